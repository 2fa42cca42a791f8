//! Temporal's history events as written.
//!
//! Owns: both spellings of event types (`EVENT_TYPE_ACTIVITY_TASK_STARTED`, `ActivityTaskStarted`),
//! ids as text or number, payloads, and the failure that a chain of causes comes from. Refuses to
//! join events.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::payload;
use crate::ingest::formats::raw::{Entries, label, number, raw_fields, read, text};
use crate::ingest::quick;
use crate::model::{ErrorInfo, ErrorOrigin};

raw_fields! {
    /// What holds events.
    Holder { events, history, next = "nextPageToken" }
}
raw_fields! {
    /// The attributes of the events that are read.
    Attributes {
        scheduled = "scheduledEventId", initiated = "initiatedEventId",
        activity_id = "activityId", activity_type = "activityType",
        workflow_type = "workflowType", workflow_id = "workflowId",
        execution = "workflowExecution", original = "originalExecutionRunId",
        first_run = "firstExecutionRunId", attempt, input, result, failure,
        last_failure = "lastFailure", timeout_type = "timeoutType",
        marker_name = "markerName", details, cause, reason, endpoint, service, operation,
    }
}
raw_fields! { Named { name } }
raw_fields! {
    /// A failure; which kind it is, one of its `...FailureInfo` tells.
    Failure {
        message, cause,
        application = "applicationFailureInfo", timeout = "timeoutFailureInfo",
        canceled = "canceledFailureInfo", terminated = "terminatedFailureInfo",
        server = "serverFailureInfo",
    }
}
raw_fields! { Application { kind = "type" } }
raw_fields! { Timeout { kind = "timeoutType" } }

/// What kinds of events are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Start,
    End(Ending),
    Opened(Work),
    Started,
    Closed(Closing),
    Marker,
    /// A timer, a workflow task, a signal, or what a later version adds.
    Other,
}

/// How a workflow ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Completed,
    Failed,
    TimedOut,
    Canceled,
    Terminated,
    ContinuedAsNew,
}

/// What a workflow has done for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    Activity,
    Child,
    Nexus,
}

/// How such work ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Closing {
    Completed,
    Failed,
    TimedOut,
    Canceled,
    Terminated,
}

impl Kind {
    /// Reads a type in either spelling, or the name of the attributes that go with it.
    fn of(word: &str) -> Self {
        let word = word.strip_prefix("EVENT_TYPE_").unwrap_or(word);
        let word = word.strip_suffix("EventAttributes").unwrap_or(word);
        let plain: String =
            word.chars().filter(|c| *c != '_').map(|c| c.to_ascii_lowercase()).collect();
        let closing = |rest: &str| {
            Some(match rest {
                "completed" => Closing::Completed,
                "failed" => Closing::Failed,
                "timedout" => Closing::TimedOut,
                "canceled" => Closing::Canceled,
                "terminated" => Closing::Terminated,
                _ => return None,
            })
        };
        match plain.as_str() {
            "workflowexecutionstarted" => return Self::Start,
            "workflowexecutioncontinuedasnew" => return Self::End(Ending::ContinuedAsNew),
            "activitytaskscheduled" => return Self::Opened(Work::Activity),
            "startchildworkflowexecutioninitiated" => return Self::Opened(Work::Child),
            "nexusoperationscheduled" => return Self::Opened(Work::Nexus),
            "startchildworkflowexecutionfailed" => return Self::Closed(Closing::Failed),
            "markerrecorded" => return Self::Marker,
            "activitytaskstarted" | "childworkflowexecutionstarted" | "nexusoperationstarted" => {
                return Self::Started;
            }
            _ => {}
        }
        if let Some(rest) = plain.strip_prefix("workflowexecution") {
            return match closing(rest) {
                Some(Closing::Completed) => Self::End(Ending::Completed),
                Some(Closing::Failed) => Self::End(Ending::Failed),
                Some(Closing::TimedOut) => Self::End(Ending::TimedOut),
                Some(Closing::Canceled) => Self::End(Ending::Canceled),
                Some(Closing::Terminated) => Self::End(Ending::Terminated),
                None => Self::Other,
            };
        }
        ["activitytask", "childworkflowexecution", "nexusoperation"]
            .iter()
            .find_map(|work| closing(plain.strip_prefix(work)?))
            .map_or(Self::Other, Self::Closed)
    }
}

/// One event: its id, kind and attributes.
pub(super) struct Read<'r> {
    pub(super) id: u64,
    pub(super) kind: Kind,
    pub(super) time: Option<Cow<'r, str>>,
    pub(super) attributes: Attributes<'r>,
}

/// Reads an event; `None` where it has no id or tells no type.
pub(super) fn event(raw: &RawValue) -> Option<Read<'_>> {
    raw.get().starts_with('{').then_some(())?;
    let members: Entries<'_> = read(raw)?;
    let (mut id, mut time, mut named, mut own, mut plain) = (None, None, None, None, None);
    for (key, value) in members.0 {
        match key.as_ref() {
            "eventId" => id = whole(value),
            "eventTime" => time = label(value),
            "eventType" => named = text(value),
            "attributes" => plain = Some(value),
            _ if key.ends_with("EventAttributes") => own = Some((key, value)),
            _ => {}
        }
    }
    let kind = match (&named, &own) {
        (Some(named), _) => Kind::of(named),
        // Some writers give the type as a number; the name of the attributes says it too.
        (None, Some((key, _))) => Kind::of(key),
        (None, None) => return None,
    };
    let attributes = own.map(|(_, value)| value).or(plain);
    let attributes = attributes.filter(|raw| kind != Kind::Other && raw.get().starts_with('{'));
    let attributes = attributes.and_then(read).unwrap_or_default();
    Some(Read { id: id?, kind, time, attributes })
}

/// An int64, as a text or as a number.
pub(super) fn whole(raw: &RawValue) -> Option<u64> {
    label(raw)?.trim().parse().ok()
}

/// The number of a try, from 1.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked just before")]
pub(super) fn tries(raw: Option<&RawValue>) -> Option<u32> {
    let tries = number(raw?)?;
    (tries >= 1.0 && tries <= f64::from(u32::MAX)).then_some(tries as u32)
}

/// The name inside `{"name": ...}`.
pub(super) fn name(raw: Option<&RawValue>) -> Option<Cow<'_, str>> {
    read::<Named<'_>>(raw?)?.name.and_then(label).filter(|name| !name.is_empty())
}

/// A text that says something.
pub(super) fn word(raw: Option<&RawValue>) -> Option<Cow<'_, str>> {
    raw.and_then(label).filter(|word| !word.is_empty())
}

/// How many causes of a failure are followed.
const DEEPEST: usize = 32;

/// The failure as an error: the innermost cause that names a type, else the innermost that says
/// anything. The cause of a timeout is the failure of an earlier try, so a timeout is innermost.
pub(super) fn error(raw: &RawValue) -> ErrorInfo<'static> {
    let (mut typed, mut untyped) = (None, None);
    let mut at = Some(raw);
    for _ in 0..DEEPEST {
        let Some(failure) =
            at.filter(|raw| raw.get().starts_with('{')).and_then(read::<Failure<'_>>)
        else {
            break;
        };
        let kind = kind_of(&failure).map(Cow::into_owned);
        let message = word(failure.message).map(Cow::into_owned);
        if kind.is_some() {
            typed = Some((kind, message));
        } else if message.is_some() {
            untyped = Some((None, message));
        }
        if failure.timeout.is_some() {
            break;
        }
        at = failure.cause;
    }
    let (kind, message) = typed.or(untyped).unwrap_or_default();
    ErrorInfo {
        kind: kind.map(Cow::Owned),
        message: message.map(Cow::Owned),
        origin: ErrorOrigin::Recorded,
    }
}

fn kind_of<'r>(failure: &Failure<'r>) -> Option<Cow<'r, str>> {
    if let Some(application) = failure.application {
        return word(read::<Application<'r>>(application)?.kind);
    }
    if let Some(timeout) = failure.timeout {
        return word(read::<Timeout<'r>>(timeout)?.kind).map(|kind| timeout_kind(&kind));
    }
    let plain = [
        (failure.canceled, "CanceledFailure"),
        (failure.terminated, "TerminatedFailure"),
        (failure.server, "ServerFailure"),
    ];
    plain.into_iter().find_map(|(info, name)| info.is_some().then_some(Cow::Borrowed(name)))
}

/// One spelling of `TIMEOUT_TYPE_START_TO_CLOSE` and `StartToClose`.
pub(super) fn timeout_kind<'k>(kind: &str) -> Cow<'k, str> {
    let Some(rest) = kind.strip_prefix("TIMEOUT_TYPE_") else { return Cow::Owned(kind.to_owned()) };
    let words = rest.split('_').map(|word| {
        let (head, tail) = word.split_at(word.len().min(1));
        format!("{head}{}", tail.to_ascii_lowercase())
    });
    Cow::Owned(words.collect())
}

raw_fields! {
    /// What a local activity's marker holds, in the keys of Go and of the SDKs on the shared core.
    LocalActivity {
        go_type = "ActivityType", go_attempt = "Attempt", core_type = "activity_type",
        attempt, result = "Result",
    }
}
raw_fields! { MarkerDetails { data, kind = "type", result } }

/// A local activity, as its marker tells.
pub(super) struct Local {
    pub(super) name: Option<String>,
    pub(super) attempt: Option<u32>,
}

/// Reads the marker of a local activity; `None` for any other marker.
pub(super) fn local_activity(attributes: &Attributes<'_>) -> Option<Local> {
    let marker = text(attributes.marker_name?)?;
    matches!(marker.as_ref(), "LocalActivity" | "core_local_activity").then_some(())?;
    let details = attributes.details.and_then(read::<MarkerDetails<'_>>).unwrap_or_default();
    let data = details.data.and_then(payload::decoded);
    let data = data.as_deref().and_then(|json| quick::from_str::<LocalActivity<'_>>(json).ok());
    let data = data.unwrap_or_default();
    let kind = details.kind.and_then(payload::decoded);
    let kind = kind.and_then(|json| serde_json::from_str::<String>(&json).ok());
    let named = data.go_type.or(data.core_type).and_then(label).map(Cow::into_owned);
    Some(Local { name: named.or(kind), attempt: tries(data.go_attempt.or(data.attempt)) })
}

#[cfg(test)]
mod tests {
    use super::{Closing, Ending, Kind, Work, error, timeout_kind};
    use serde_json::value::RawValue;

    #[test]
    fn both_spellings_are_one_kind() {
        for (words, kind) in [
            (["EVENT_TYPE_WORKFLOW_EXECUTION_STARTED", "WorkflowExecutionStarted"], Kind::Start),
            (
                ["EVENT_TYPE_ACTIVITY_TASK_STARTED", "activityTaskStartedEventAttributes"],
                Kind::Started,
            ),
            (
                ["EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT", "ActivityTaskTimedOut"],
                Kind::Closed(Closing::TimedOut),
            ),
            (
                ["EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED", "WorkflowExecutionCanceled"],
                Kind::End(Ending::Canceled),
            ),
            (
                ["EVENT_TYPE_NEXUS_OPERATION_SCHEDULED", "NexusOperationScheduled"],
                Kind::Opened(Work::Nexus),
            ),
            (
                ["EVENT_TYPE_ACTIVITY_TASK_CANCEL_REQUESTED", "WorkflowExecutionSignaled"],
                Kind::Other,
            ),
        ] {
            assert_eq!(words.map(Kind::of), [kind, kind], "{words:?}");
        }
        assert_eq!(timeout_kind("TIMEOUT_TYPE_START_TO_CLOSE"), "StartToClose");
    }

    #[test]
    fn the_innermost_cause_is_the_error_and_a_timeout_has_none() {
        let read = |json: &str| {
            let error = error(&RawValue::from_string(json.to_owned()).unwrap());
            (error.kind.map(|k| k.into_owned()), error.message.map(|m| m.into_owned()))
        };
        let text = |text: &str| Some(text.to_owned());
        let nested = r#"{"message":"activity error","cause":{"message":"no","applicationFailureInfo":{"type":"ValueError"}},"activityFailureInfo":{}}"#;
        assert_eq!(read(nested), (text("ValueError"), text("no")));
        let timeout = r#"{"message":"late","timeoutFailureInfo":{"timeoutType":"ScheduleToStart"},"cause":{"message":"before"}}"#;
        assert_eq!(read(timeout), (text("ScheduleToStart"), text("late")));
        let deep = format!("{}null{}", r#"{"message":"m","cause":"#.repeat(60), "}".repeat(60));
        assert_eq!(read(&deep), (None, text("m")));
    }
}
