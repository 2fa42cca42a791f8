//! ATIF (Agent Trajectory Interchange Format) of all versions, as Harbor and others write it.
//!
//! Owns which documents make one run: a trajectory, the files that continue it, and the subagents that
//! it refers to, embedded or in files beside it. Steps that were copied as context are skipped, and a
//! document that is there twice counts once. What a step says is read in `wire`. A subagent whose
//! parent is not among the inputs is a run by itself. ATIF has no outcome and no field for errors:
//! outcomes are joined from the trial's result, errors are read from texts and marked so. What our own
//! `convert` says beside is read back.
//! Refuses: sums at the end of a trajectory where steps record their own usage.

mod own;
mod step;
mod wire;

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use super::raw::{object, quoted};
use super::transcript::Transcript;
use super::{Assembler, Fate, Format, Parsed, Probe, Reader, Record};
use crate::config::ReadOptions;
use crate::ingest::assemble::tally::Tally;
use crate::model::{Attempt, Final, Issue, Severity, Stamp, Trajectory};
use wire::{Document, Happened};

/// Trajectories in ATIF.
pub const ATIF: Format = Format {
    name: "atif",
    about: "ATIF trajectories",
    detect,
    wrappers: &[],
    splits_arrays: true,
    reader: Reader::Parts(|options| Box::new(Atif::new(options))),
    archive: None,
    misspelt: None,
};

fn detect(probe: &Probe<'_>) -> bool {
    if !probe.any_has(&["schema_version"]) {
        return false;
    }
    let start = probe.records.first().map_or(&[][..], |r| r.get(..64 << 10).unwrap_or(r));
    let marked = |mark: &str| memchr::memmem::find(start, mark.as_bytes()).is_some();
    // Some writers leave the prefix of the version out.
    marked("\"ATIF-v")
        || (probe.any_has(&["schema_version", "agent", "steps"]) && marked("\"step_id\""))
}

struct Atif {
    options: ReadOptions,
    documents: Vec<Document>,
    seen: HashSet<u64>,
    tally: Tally,
}

/// Longest name of a file that continues another, in bytes.
const LONGEST_NAME: usize = 255;

/// How deep subagents of subagents are followed.
const DEEPEST: usize = 32;

impl Atif {
    fn new(options: &ReadOptions) -> Self {
        Self {
            options: options.clone(),
            documents: Vec::new(),
            seen: HashSet::new(),
            tally: Tally::default(),
        }
    }
}

impl Assembler for Atif {
    fn push(&mut self, record: &Record<'_>) -> Fate {
        let mut hasher = DefaultHasher::new();
        record.bytes.trim_ascii().hash(&mut hasher);
        if !self.seen.insert(hasher.finish()) {
            return Fate::Merged("same_trajectory");
        }
        match wire::read(record, &mut self.tally) {
            Ok(documents) => {
                self.documents.extend(documents);
                Fate::Used
            }
            Err(refusal) => Fate::Refused(refusal),
        }
    }

    fn finish(self: Box<Self>) -> Parsed<'static> {
        let Self { options, documents, mut tally, .. } = *self;
        let links = Links::of(&documents);
        let mut issues = Vec::new();
        let mut runs = Vec::new();
        let mut documents: Vec<Option<Document>> = documents.into_iter().map(Some).collect();
        for at in 0..documents.len() {
            if links.is_part(at) {
                continue;
            }
            let mut parts = Parts { documents: &mut documents, links: &links, tally: &mut tally };
            if let Some(run) = parts.run(at, &options, &mut issues) {
                runs.push(run);
            }
        }
        // Documents that only refer to each other in a circle are runs by themselves.
        for at in 0..documents.len() {
            let mut parts = Parts { documents: &mut documents, links: &links, tally: &mut tally };
            if let Some(run) = parts.run(at, &options, &mut issues) {
                runs.push(run);
            }
        }
        runs.sort_by_key(|run| run.place);
        issues.extend(tally.into_issues());
        Parsed { runs, issues }
    }
}

/// Which document continues or serves which.
struct Links {
    next: BTreeMap<usize, usize>,
    parts: HashSet<usize>,
    by_session: HashMap<(PathBuf, String), usize>,
    by_file: HashMap<PathBuf, usize>,
}

impl Links {
    fn of(documents: &[Document]) -> Self {
        let mut links = Self {
            next: BTreeMap::new(),
            parts: HashSet::new(),
            by_session: HashMap::new(),
            by_file: HashMap::new(),
        };
        for (at, document) in documents.iter().enumerate() {
            links.by_file.entry(document.path.clone()).or_insert(at);
            for id in [&document.session, &document.trajectory].into_iter().flatten() {
                let key = (document.folder().to_owned(), id.clone());
                links.by_session.entry(key).or_insert(at);
            }
        }
        for (at, document) in documents.iter().enumerate() {
            if let Some(reference) = &document.continued
                && let Some(next) = links.continuation(documents, at, reference)
                && next != at
                && links.parts.insert(next)
            {
                links.next.insert(at, next);
            }
            for reference in document.steps.iter().flat_map(Happened::subagents) {
                if let Some(served) = links.subagent(document, reference).filter(|to| *to != at) {
                    links.parts.insert(served);
                }
            }
        }
        links
    }

    fn is_part(&self, at: usize) -> bool {
        self.parts.contains(&at)
    }

    /// The document that continues another: the file that it names, with or without what stands in
    /// front of the names of both.
    fn continuation(&self, documents: &[Document], at: usize, reference: &str) -> Option<usize> {
        let document = documents.get(at)?;
        if let Some(found) = self.by_file.get(&document.folder().join(reference)) {
            return Some(*found);
        }
        let name = document.path.file_name()?.to_str()?;
        let sought = Path::new(reference).file_name()?.to_str()?;
        // Each start of the name is tried, so neither may be longer than file systems allow.
        if name.len().max(sought.len()) > LONGEST_NAME {
            return None;
        }
        (0..name.len()).filter(|end| name.is_char_boundary(*end)).find_map(|end| {
            let prefixed = format!("{}{sought}", name.get(..end)?);
            let found = *self.by_file.get(&document.folder().join(prefixed))?;
            let other = documents.get(found)?;
            (found != at && other.session == document.session).then_some(found)
        })
    }

    fn subagent(&self, of: &Document, reference: &wire::Reference) -> Option<usize> {
        let path = reference.path.as_ref().map(|path| of.folder().join(path));
        let ids = [&reference.trajectory, &reference.session].into_iter().flatten();
        let by_id = |id: &String| self.by_session.get(&(of.folder().to_owned(), id.clone()));
        path.and_then(|path| self.by_file.get(&path))
            .or_else(|| ids.filter_map(by_id).next())
            .copied()
    }
}

/// Attempts that stand for those that were read, with the place of the first.
type MadeOf = Vec<(usize, Vec<Attempt<'static>>)>;

/// Builds one run of the documents that belong to it.
struct Parts<'p> {
    documents: &'p mut Vec<Option<Document>>,
    links: &'p Links,
    tally: &'p mut Tally,
}

impl Parts<'_> {
    fn run(
        &mut self,
        at: usize,
        options: &ReadOptions,
        issues: &mut Vec<Issue>,
    ) -> Option<Trajectory<'static>> {
        let first = self.documents.get_mut(at)?.take()?;
        let mut transcript = Transcript::new(first.place, options);
        let mut run = first.head();
        let own = first.own.clone();
        let mut made_of = MadeOf::new();
        let (mut stamps, mut last, mut total) = (Vec::new(), None, first.total);
        let mut current = Some((at, first));
        let mut pieces = 0;
        while let Some((at, document)) = current {
            pieces += 1;
            // The sums of a continuation include what came before it.
            total = document.total.or(total);
            last = document.cost.or(last);
            self.add(document, &mut transcript, &mut made_of, &mut stamps, &mut run, 0);
            current = self
                .links
                .next
                .get(&at)
                .and_then(|next| Some((*next, self.documents.get_mut(*next)?.take()?)));
        }
        run.attempts = transcript.finish(issues);
        for (from, own) in made_of {
            let read = run.attempts.iter_mut().skip(from);
            for (attempt, own) in read.zip(own) {
                let raw = attempt.raw.take();
                *attempt = Attempt { raw, ..own };
            }
        }
        if let Some(own) = own {
            return Some(Trajectory { place: run.place, attempts: run.attempts, ..own });
        }
        run.tokens = total;
        run.cost_usd = last;
        run.started_at = stamps.first().cloned().map(Stamp::into_owned);
        run.ended_at = stamps.last().cloned().map(Stamp::into_owned);
        if pieces > 1 {
            run.tags.push(("files".into(), pieces.to_string().into()));
        }
        Some(run)
    }

    /// Adds what happened in a document, with its subagents where they were called.
    fn add(
        &mut self,
        document: Document,
        transcript: &mut Transcript<'static>,
        made_of: &mut MadeOf,
        stamps: &mut Vec<Stamp<'static>>,
        run: &mut Trajectory<'static>,
        depth: usize,
    ) {
        let place = document.place;
        let (path, session) = (document.path.clone(), document.session.clone());
        let mut embedded = Embedded::of(document.embedded);
        let head = Document { path, session, place, ..Document::default() };
        for happened in document.steps {
            match happened {
                Happened::Step(step) => {
                    if depth == 0 {
                        stamps.extend(step.stamp.clone());
                        if let Some(words) = &step.words {
                            run.final_output =
                                Final::Json(object(&[("output", Some(&quoted(words)))]).into());
                        }
                    }
                    let from = transcript.len();
                    made_of.extend(step.add(transcript).map(|own| (from, own)));
                }
                Happened::Subagents(references) => {
                    for reference in references {
                        let found = match embedded.take(&reference) {
                            Some(inside) => Some(inside),
                            None => self
                                .links
                                .subagent(&head, &reference)
                                .and_then(|at| self.documents.get_mut(at)?.take()),
                        };
                        match found {
                            Some(found) if depth < DEEPEST => {
                                self.add(found, transcript, made_of, stamps, run, depth + 1);
                            }
                            _ => {
                                let rule = "subagents whose trajectories are not among the inputs";
                                let code = "subagent_missing";
                                self.tally.count(code, Severity::Note, place, rule);
                            }
                        }
                    }
                }
            }
        }
        // What no step refers to ran too.
        for found in embedded.documents.into_iter().flatten() {
            if depth < DEEPEST {
                self.add(found, transcript, made_of, stamps, run, depth + 1);
            }
        }
    }
}

/// The subagents inside a document that no step took yet, and where they stand by their ids.
struct Embedded {
    documents: Vec<Option<Document>>,
    by_id: HashMap<String, VecDeque<usize>>,
}

impl Embedded {
    fn of(embedded: Vec<(Vec<String>, Document)>) -> Self {
        let mut by_id: HashMap<String, VecDeque<usize>> = HashMap::new();
        let mut documents = Vec::with_capacity(embedded.len());
        for (at, (ids, document)) in embedded.into_iter().enumerate() {
            ids.into_iter().for_each(|id| by_id.entry(id).or_default().push_back(at));
            documents.push(Some(document));
        }
        Self { documents, by_id }
    }

    /// The first one that is meant and left.
    fn take(&mut self, reference: &wire::Reference) -> Option<Document> {
        let ids = [&reference.trajectory, &reference.session].into_iter().flatten();
        let mut first: Option<usize> = None;
        for id in ids {
            let Some(places) = self.by_id.get_mut(id) else { continue };
            // A document stands under several ids, and may be taken by another.
            while places
                .front()
                .is_some_and(|at| self.documents.get(*at).is_none_or(Option::is_none))
            {
                places.pop_front();
            }
            first = first.into_iter().chain(places.front().copied()).min();
        }
        self.documents.get_mut(first?)?.take()
    }
}
