//! The order of runs in the file: by task, trial, run id and save, then by the rest of the line, so
//! that the same runs give the same lines whatever order they were read in.

use std::cmp::Ordering;

use super::Baseline;
use super::judging::json;
use super::line::RunWire;
use crate::evaluate::RunRow;

impl Baseline {
    /// Puts rows, their saves and the inputs in order.
    pub(super) fn sort(&mut self) {
        let rows = std::mem::take(&mut self.rows);
        let mut all: Vec<(RunRow, u32)> = rows.into_iter().zip(self.save_of.drain(..)).collect();
        all.sort_by(|(a, save_a), (b, save_b)| {
            a.task_id
                .cmp(&b.task_id)
                .then_with(|| natural(a.trial.as_deref(), b.trial.as_deref()))
                .then_with(|| a.run_id.cmp(&b.run_id))
                .then_with(|| save_a.cmp(save_b))
                .then_with(|| json(&RunWire::of(a, *save_a)).cmp(&json(&RunWire::of(b, *save_b))))
        });
        for (number, (row, _)) in (1..).zip(&mut all) {
            row.place = crate::model::Place { line: number, ..Default::default() };
        }
        (self.rows, self.save_of) = all.into_iter().unzip();
        self.inputs.sort();
    }
}

/// `2` before `10`, and none before all.
fn natural(a: Option<&str>, b: Option<&str>) -> Ordering {
    let (Some(a), Some(b)) = (a, b) else { return a.cmp(&b) };
    let (mut rest_a, mut rest_b) = (a, b);
    loop {
        let (number_a, number_b) = (digits(rest_a), digits(rest_b));
        if number_a > 0 && number_b > 0 {
            let (head_a, tail_a) = rest_a.split_at(number_a);
            let (head_b, tail_b) = rest_b.split_at(number_b);
            let (bare_a, bare_b) = (head_a.trim_start_matches('0'), head_b.trim_start_matches('0'));
            let order = bare_a.len().cmp(&bare_b.len()).then_with(|| bare_a.cmp(bare_b));
            if order.is_ne() {
                return order;
            }
            (rest_a, rest_b) = (tail_a, tail_b);
            continue;
        }
        let (mut letters_a, mut letters_b) = (rest_a.chars(), rest_b.chars());
        match (letters_a.next(), letters_b.next()) {
            // `01` and `1` are equal as numbers, but the order must be the same for each input.
            (None, None) => return a.cmp(b),
            (x, y) if x != y => return x.cmp(&y),
            _ => (rest_a, rest_b) = (letters_a.as_str(), letters_b.as_str()),
        }
    }
}

fn digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

#[cfg(test)]
mod tests {
    use super::natural;

    #[test]
    fn trials_are_in_the_order_of_their_numbers() {
        let mut trials = ["10", "b2", "2", "b10", "01", "1", "b", "", "99999999999999999999999"];
        trials.sort_by(|a, b| natural(Some(a), Some(b)));
        assert_eq!(trials, ["", "01", "1", "2", "10", "99999999999999999999999", "b", "b2", "b10"]);
    }
}
