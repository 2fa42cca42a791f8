//! Which session a rollout is of, and what of it is a replay.
//!
//! Owns identity and forks. The identity of a file is its first `session_meta` that no other one in
//! the file descends from; a file without any belongs to the session that has its turns, or to the
//! only one in the input. A fork and a sub-agent may replay the history of their parent, under new
//! times: all of it up to the first turn of the session's own counts in the parent alone, and the
//! parent's tokens are taken off the running total. Turn ids tell which turn is a session's own:
//! they are UUIDs of version 7, which begin with their time, and so is the id of the session.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::super::agent_log::{At, Extent, What, in_order};
use super::wire::Meta;
use super::{Entry, File, Said};
use crate::ingest::assemble::tally::Tally;
use crate::model::{Place, Severity, Stamp, Tokens, Trajectory};

/// The lines of one session, from however many files.
pub(super) struct Session {
    pub(super) place: Place,
    pub(super) id: String,
    pub(super) meta: Meta,
    /// Whether the meta of another session is among the lines, as in a replay.
    embeds: bool,
    pub(super) entries: Vec<Entry>,
    pub(super) extent: Extent,
}

/// The meta that says who a file is of.
fn identity(metas: &mut [(At, Meta)]) -> Option<Meta> {
    in_order(metas, |(at, _)| at, |_| 0);
    let parents: HashSet<&str> =
        metas.iter().filter_map(|(_, meta)| meta.parent.as_deref()).collect();
    let own = metas.iter().find(|(_, meta)| !parents.contains(meta.id.as_str()));
    own.or(metas.first()).map(|(_, meta)| meta.clone())
}

/// Gathers files into sessions, in the order of their first line.
pub(super) fn sessions(files: Vec<File>, tally: &mut Tally) -> Vec<Session> {
    let mut named = Vec::new();
    let mut nameless = Vec::new();
    for mut file in files {
        match identity(&mut file.metas) {
            Some(meta) => named.push((meta, file)),
            None => nameless.push(file),
        }
    }
    let mut sessions: Vec<Session> = Vec::new();
    let mut by_id: HashMap<String, usize> = HashMap::new();
    for (meta, file) in named {
        let at = *by_id.entry(meta.id.clone()).or_insert(sessions.len());
        match sessions.get_mut(at) {
            Some(session) => session.absorb(file),
            None => sessions.push(Session::new(meta.id.clone(), meta, file)),
        }
    }
    let homes = links(&mut sessions, &by_id);
    let only = (sessions.len() == 1).then_some(0);
    for file in nameless {
        let home = file.entries.iter().filter_map(link).find_map(|key| homes.get(&key).copied());
        let home = home.or_else(|| by_id.get(id_in_name(&file.stem)?).copied()).or(only);
        match home.and_then(|home| sessions.get_mut(home)) {
            Some(session) => session.absorb(file),
            None => {
                let rule = "rollouts without `session_meta`; each is a run named after its file";
                tally.count("session_without_meta", Severity::Warning, file.place, rule);
                sessions.push(Session::new(file.stem.clone(), Meta::default(), file));
            }
        }
    }
    for session in &mut sessions {
        session.settle(tally);
    }
    sessions.sort_by_key(|session| session.place);
    sessions
}

/// The session of each turn and call; those in a replay are its parent's, if that is in the input.
fn links(sessions: &mut [Session], by_id: &HashMap<String, usize>) -> HashMap<String, usize> {
    sessions.iter_mut().for_each(Session::put_in_order);
    let turns = first_homes(sessions);
    let mut homes = HashMap::new();
    let mut replays = Vec::new();
    for (at, session) in sessions.iter().enumerate() {
        let first = session.boundary(&turns, at).map_or(0, |(first, _)| first);
        let parent = session.meta.parent.as_ref().and_then(|parent| by_id.get(parent));
        for (nth, entry) in session.entries.iter().enumerate() {
            let Some(key) = link(entry) else { continue };
            match nth < first {
                true => replays.extend(parent.map(|parent| (key, *parent))),
                false => {
                    homes.entry(key).or_insert(at);
                }
            }
        }
    }
    for (key, at) in replays {
        homes.entry(key).or_insert(at);
    }
    homes
}

/// The id at the end of the name of a rollout, `rollout-TIME-ID`.
fn id_in_name(stem: &str) -> Option<&str> {
    stem.get(stem.len().checked_sub(36)?..)
}

/// What ties a line to others of its session: the id of a turn or of a call.
fn link(entry: &Entry) -> Option<String> {
    match &entry.said {
        Said::Started(turn)
        | Said::Context(_, turn)
        | Said::Complete(turn, _)
        | Said::Aborted(turn, _) => turn.as_ref().map(|id| format!("t:{id}")),
        Said::Event(What::Call(call)) => call.id.as_ref().map(|id| format!("c:{id}")),
        Said::Event(What::Outcome(outcome)) => outcome.id.as_ref().map(|id| format!("c:{id}")),
        _ => None,
    }
}

impl Session {
    fn new(id: String, meta: Meta, file: File) -> Self {
        let mut session = Self {
            place: file.place,
            id,
            meta,
            embeds: false,
            entries: Vec::new(),
            extent: Extent::default(),
        };
        session.absorb(file);
        session
    }

    fn absorb(&mut self, file: File) {
        self.place = self.place.min(file.place);
        self.embeds |= file.metas.iter().any(|(_, meta)| meta.id != self.id);
        for (at, meta) in &file.metas {
            if meta.id == self.id {
                self.extent.see(at);
            }
        }
        self.entries.extend(file.entries);
    }

    /// Drops copies of lines in other files of the session, and puts the rest in order.
    fn settle(&mut self, tally: &mut Tally) {
        let mut seen: HashMap<(u64, Option<String>), u32> = HashMap::new();
        let mut copies = 0;
        self.entries.retain(|entry| {
            let Some(hash) = entry.hash else { return true };
            let file = *seen.entry((hash, entry.at.stamp.clone())).or_insert(entry.file);
            copies += u64::from(file != entry.file);
            file == entry.file
        });
        let rule = "lines that another file of the same session holds as well; each counts once";
        tally.add("copied_lines", Severity::Note, self.place, rule, copies);
        self.put_in_order();
    }

    fn put_in_order(&mut self) {
        in_order(
            &mut self.entries,
            |entry| &entry.at,
            |entry| match &entry.said {
                Said::Started(_) | Said::Context(..) | Said::User => 0,
                Said::Event(What::Turn(_)) | Said::Words(_) => 1,
                Said::Event(What::Call(_) | What::Done(..)) => 2,
                Said::Event(What::Outcome(_)) | Said::Mcp(..) => 3,
                Said::Tokens(_) => 4,
                Said::Complete(..) | Said::Aborted(..) | Said::Broken => 5,
            },
        );
    }

    /// Whether a turn is this session's own and not one of a history that it replays.
    fn owns(&self, turn: &str, others: &HashMap<String, usize>, at: usize) -> bool {
        match (v7_millis(turn), v7_millis(&self.id)) {
            (Some(turn), Some(session)) => turn >= session,
            _ => others.get(turn).is_none_or(|home| *home == at),
        }
    }

    /// Where the session's own lines begin, and the tokens that were counted before.
    fn boundary(
        &self,
        turns: &HashMap<String, usize>,
        at: usize,
    ) -> Option<(usize, Option<Tokens>)> {
        if self.meta.parent.is_none() && !self.meta.subagent {
            return None;
        }
        let mut own = None;
        let mut replays = self.embeds;
        for (nth, entry) in self.entries.iter().enumerate() {
            let Said::Started(turn) = &entry.said else { continue };
            if turn.as_deref().is_none_or(|turn| self.owns(turn, turns, at)) {
                own = Some(nth);
                break;
            }
            replays = true;
        }
        let first = own.filter(|_| replays)?;
        let before = self.entries.get(..first)?;
        let inherited = before.iter().rev().find_map(|entry| match &entry.said {
            Said::Tokens(tokens) => Some(*tokens),
            _ => None,
        });
        Some((first, inherited))
    }
}

/// Makes one run of each session.
pub(super) fn runs(
    mut sessions: Vec<Session>,
    raw: bool,
    tally: &mut Tally,
) -> Vec<Trajectory<'static>> {
    let mut inherited: Vec<Option<Tokens>> = vec![None; sessions.len()];
    let turns = first_homes(&sessions);
    for (at, session) in sessions.iter_mut().enumerate() {
        if let Some((first, before)) = session.boundary(&turns, at) {
            let rule = "lines of a parent's history that a fork or sub-agent replays; they count in the parent alone";
            // The words of a message have no hash: they are no line of their own.
            let lines = session.entries.drain(..first).filter(|entry| entry.hash.is_some()).count();
            tally.add("replayed_lines", Severity::Note, session.place, rule, lines as u64);
            if let Some(slot) = inherited.get_mut(at) {
                *slot = before;
            }
        }
    }
    drop_copied_calls(&mut sessions, tally);
    let pairs = sessions.into_iter().zip(inherited);
    pairs.map(|(session, before)| session.finish(before, raw, tally)).collect()
}

/// In which session each turn stands, the one that began first where it stands in several.
fn first_homes(sessions: &[Session]) -> HashMap<String, usize> {
    let mut homes = HashMap::new();
    for at in by_start(sessions) {
        for entry in sessions.get(at).into_iter().flat_map(|session| &session.entries) {
            if let Said::Started(Some(turn)) = &entry.said {
                homes.entry(turn.clone()).or_insert(at);
            }
        }
    }
    homes
}

/// The sessions in the order in which they began.
fn by_start(sessions: &[Session]) -> Vec<usize> {
    let start = |session: &Session| {
        let own = session.meta.started.clone().map(|text| Stamp::Text(Cow::Owned(text)));
        own.or_else(|| session.extent.start())
            .and_then(|stamp| stamp.time())
            .map(|time| time.micros)
    };
    let mut order: Vec<usize> = (0..sessions.len()).collect();
    order.sort_by_key(|at| sessions.get(*at).map(|session| (start(session), session.place)));
    order
}

/// Drops calls, with their results, that stand with the same id and arguments in a session that
/// began earlier: a replay whose end nothing tells.
fn drop_copied_calls(sessions: &mut [Session], tally: &mut Tally) {
    let mut homes: HashMap<(String, u64), usize> = HashMap::new();
    for at in by_start(sessions) {
        let Some(session) = sessions.get_mut(at) else { continue };
        let (mut copied, mut kept) = (HashSet::new(), HashSet::new());
        for entry in &session.entries {
            let Said::Event(What::Call(call)) = &entry.said else { continue };
            let (Some(id), Some(hash)) = (call.id.clone(), entry.hash) else { continue };
            match *homes.entry((id.clone(), hash)).or_insert(at) == at {
                true => kept.insert(id),
                false => copied.insert(id),
            };
        }
        copied.retain(|id| !kept.contains(id));
        if copied.is_empty() {
            continue;
        }
        let before = session.entries.len();
        session.entries.retain(|entry| match &entry.said {
            Said::Event(What::Call(call)) => call.id.as_ref().is_none_or(|id| !copied.contains(id)),
            Said::Event(What::Outcome(outcome)) | Said::Mcp(_, outcome) => {
                outcome.id.as_ref().is_none_or(|id| !copied.contains(id))
            }
            _ => true,
        });
        let rule =
            "calls and results that an earlier session holds with the same id; each counts once";
        let dropped = (before - session.entries.len()) as u64;
        tally.add("copied_calls", Severity::Note, session.place, rule, dropped);
    }
}

/// The milliseconds at the head of a UUID of version 7.
fn v7_millis(id: &str) -> Option<u64> {
    let bytes = id.as_bytes();
    let dashes = [8, 13, 18, 23].iter().all(|at| bytes.get(*at) == Some(&b'-'));
    if bytes.len() != 36 || !dashes || bytes.get(14) != Some(&b'7') {
        return None;
    }
    let (high, low) = (id.get(..8)?, id.get(9..13)?);
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !digits(high) || !digits(low) {
        return None;
    }
    Some((u64::from_str_radix(high, 16).ok()? << 16) | u64::from_str_radix(low, 16).ok()?)
}
