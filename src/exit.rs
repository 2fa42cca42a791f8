//! The exit codes that scripts rely on.

use std::process::ExitCode;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// 0: done.
    Done,
    /// 1: a gate saw a regression.
    Regression,
    /// 2: bad usage, bad config, unreadable input, or no format recognised.
    Usage,
    /// 3: a gate that must decide had not enough evidence.
    Inconclusive,
    /// 4: nothing was evaluated.
    Nothing,
    /// 70: a fault of agenteval itself.
    Fault,
}

impl Status {
    /// The number.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Regression => 1,
            Self::Usage => 2,
            Self::Inconclusive => 3,
            Self::Nothing => 4,
            Self::Fault => 70,
        }
    }
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        Self::from(status.code())
    }
}

#[cfg(test)]
mod tests {
    use super::Status;

    #[test]
    fn the_codes_are_those_of_the_contract() {
        let all = [
            Status::Done,
            Status::Regression,
            Status::Usage,
            Status::Inconclusive,
            Status::Nothing,
            Status::Fault,
        ];
        assert_eq!(all.map(Status::code), [0, 1, 2, 3, 4, 70]);
    }
}
