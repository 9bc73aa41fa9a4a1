//! Searches vectors: first the admissible sets, then keys, then codes, then the bytes of the candidates.

use std::collections::{BTreeSet, HashMap};

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Rows, params};

use super::code::{Probe, code_bytes};
use super::store::{Set, Store, block_no, torn};
use super::{Document, KEY_BYTES, Key, Nearest, Sort, Within};
use crate::error::Result;
use crate::event::{Role, TurnKind};
use crate::scope::AgentNo;
use crate::tree::file_table;

/// Number of candidates found by their codes whose bytes are compared, a page each (STACK: with a million vectors the
/// best 10 have a recall of .9665 with 300 candidates and of .9735 with 1,000, the same as without codes).
const CANDIDATES: usize = 500;
const LEAST_CANDIDATES: usize = 200;

/// The limits of a search, applied before anything is compared.
struct Gate<'f> {
    within: Within<'f>,
    span: (i64, i64),
    /// The sessions of turns or the threads of nodes, ascending.
    groups: Option<Vec<i64>>,
}

impl Gate<'_> {
    fn sort(&self) -> Sort {
        match self.within {
            Within::Turns(_) => Sort::Turn,
            Within::Files(_) => Sort::File,
            Within::Nodes(_) => Sort::Node,
        }
    }

    fn lets_set(&self, set: &Set) -> bool {
        match self.within {
            Within::Turns(f) => {
                among(&f.workspaces, &set.workspace_no) && f.harness.as_ref().is_none_or(|h| *h == set.label)
            }
            Within::Files(f) => among(&f.scopes, &set.label),
            Within::Nodes(f) => among(&f.workspaces, &set.workspace_no),
        }
    }

    /// Whether every key of an admitted set passes, so that keys need not be checked.
    fn is_open(&self) -> bool {
        match self.within {
            Within::Turns(f) => f.sessions.is_none() && f.roles.is_none() && f.kinds.is_none() && f.turns.is_none(),
            Within::Files(_) => false,
            Within::Nodes(f) => f.threads.is_none() && f.kinds.is_none(),
        }
    }

    fn has(&self, group: i64) -> bool {
        self.groups.as_ref().is_none_or(|groups| groups.binary_search(&group).is_ok())
    }

    fn lets(&self, key: Key) -> bool {
        let group = i64::from(key.group);
        match self.within {
            Within::Turns(f) => {
                (self.span.0..=self.span.1).contains(&key.number)
                    && self.has(group)
                    && f.roles.as_ref().is_none_or(|list| list.iter().any(|r: &Role| *r as u8 == key.class >> 4))
                    && f.kinds.as_ref().is_none_or(|list| list.iter().any(|k: &TurnKind| *k as u8 == key.class & 15))
            }
            Within::Files(f) => {
                (f.archived || key.class >> 7 == 0)
                    && f.kinds
                        .as_ref()
                        .is_none_or(|list| list.iter().any(|k: &file_table::Kind| *k as u8 == key.class & 127))
            }
            Within::Nodes(f) => {
                self.has(group) && f.kinds.as_ref().is_none_or(|list| list.iter().any(|k| k.code() as u8 == key.class))
            }
        }
    }
}

fn among<T: PartialEq>(list: &Option<Vec<T>>, one: &T) -> bool {
    list.as_ref().is_none_or(|list| list.contains(one))
}

#[derive(Clone, Copy)]
struct Candidate {
    distance: u16,
    set_no: i64,
    slot: usize,
    number: i64,
}

/// The best candidates so far: at most a few times as many as wanted, and none worse than the bound once full.
struct Best<'n> {
    wanted: usize,
    bound: u16,
    all: Vec<Candidate>,
    /// Numbers of documents compared at any distance, ascending, and their candidates.
    also: &'n [i64],
    met: Vec<Candidate>,
}

impl Best<'_> {
    fn push(&mut self, candidate: Candidate) {
        if candidate.distance >= self.bound {
            return;
        }
        self.all.push(candidate);
        if self.all.len() >= self.wanted * 4 {
            self.shrink();
        }
    }

    fn shrink(&mut self) {
        if self.all.len() > self.wanted {
            self.all.select_nth_unstable_by_key(self.wanted - 1, |c| c.distance);
            self.all.truncate(self.wanted);
            self.bound = self.all.iter().map(|c| c.distance).max().unwrap_or(u16::MAX);
        }
    }
}

impl Store<'_> {
    /// Returns the documents nearest to a vector.
    pub fn nearest(&self, vector: &[f32], agent_no: AgentNo, within: Within, limit: usize) -> Result<Nearest> {
        self.nearest_and(vector, agent_no, within, limit, &[])
    }

    /// Does the same, and returns the cosines of the documents numbered `also` that pass the limits, found in the same
    /// pass.
    pub fn nearest_and(
        &self,
        vector: &[f32],
        agent_no: AgentNo,
        within: Within,
        limit: usize,
        also: &[i64],
    ) -> Result<Nearest> {
        let mut out = Nearest::default();
        let Some(probe) = Probe::new(vector).filter(|p| p.dimensions() == self.dimensions && limit > 0) else {
            return Ok(out);
        };
        let span = match within {
            Within::Turns(f) => f.turns.map_or((0, i64::MAX), |(first, last)| (first.0, last.0)),
            _ => (0, i64::MAX),
        };
        let groups = match within {
            Within::Turns(f) => f.sessions.as_ref().map(|l| l.iter().map(|no| no.0).collect::<Vec<_>>()),
            Within::Nodes(f) => f.threads.as_ref().map(|l| l.iter().map(|no| no.0).collect()),
            Within::Files(_) => None,
        };
        let groups = groups.map(|mut groups| {
            groups.sort_unstable();
            groups
        });
        let gate = Gate { within, span, groups };
        let mut also = also.to_vec();
        also.sort_unstable();
        // A smaller result needs fewer candidates, and each is on a page of its own.
        let wanted = (limit.saturating_mul(5) / 2).clamp(LEAST_CANDIDATES, CANDIDATES).max(limit.saturating_mul(2));
        let mut best = Best { wanted, bound: u16::MAX, all: Vec::new(), also: &also, met: Vec::new() };
        let sets = self.sets(agent_no, gate.sort())?;
        let sets: Vec<&Set> = sets.iter().filter(|set| set.vectors > 0 && gate.lets_set(set)).collect();
        let blocks = gate.groups.as_ref().map(|groups| self.blocks_of(groups, &sets)).transpose()?;
        for set in sets {
            if !self.scan(set, blocks.as_deref(), &probe, &gate, &mut best)? {
                out.cut_short = true;
                break;
            }
        }
        best.shrink();
        best.all.append(&mut best.met);
        let mut scores: HashMap<i64, f32> = HashMap::new();
        out.cut_short |= !self.compare(&probe, &mut best.all, |number, similarity| {
            let score = scores.entry(number).or_insert(f32::MIN);
            *score = score.max(similarity);
        })?;
        out.also = also.iter().filter_map(|n| Some((gate.sort().document(*n), *scores.get(n)?))).collect();
        out.found = scores.into_iter().map(|(number, score)| (gate.sort().document(number), score)).collect();
        out.found.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0)));
        out.found.truncate(limit);
        Ok(out)
    }

    /// Returns the cosines of some documents; those without a vector are left out.
    pub fn similarities(&self, vector: &[f32], agent_no: AgentNo, of: &[Document]) -> Result<HashMap<Document, f32>> {
        let mut out = HashMap::new();
        let Some(probe) = Probe::new(vector).filter(|p| p.dimensions() == self.dimensions) else { return Ok(out) };
        for sort in [Sort::Turn, Sort::File, Sort::Node] {
            let numbers: BTreeSet<i64> = of
                .iter()
                .filter_map(|document| match (sort, document) {
                    (Sort::Turn, Document::Turn(id)) => Some(id.0),
                    (Sort::File, Document::File(no)) => Some(no.0),
                    (Sort::Node, Document::Node(id)) => Some(id.0),
                    _ => None,
                })
                .collect();
            if numbers.is_empty() {
                continue;
            }
            let mut places = Vec::new();
            for set in self.sets(agent_no, sort)? {
                let slots = self.slots(&set, &numbers)?;
                places.extend(slots.into_iter().map(|(slot, key)| Candidate {
                    distance: 0,
                    set_no: set.set_no,
                    slot,
                    number: key.number,
                }));
            }
            self.compare(&probe, &mut places, |number, similarity| {
                let score = out.entry(sort.document(number)).or_insert(f32::MIN);
                *score = score.max(similarity);
            })?;
        }
        Ok(out)
    }

    /// Collects the candidates of a set, or of some of its blocks. `false`: interrupted at the deadline.
    fn scan(&self, set: &Set, blocks: Option<&[i64]>, probe: &Probe, gate: &Gate, best: &mut Best) -> Result<bool> {
        let (from, to) = (block_no(set.set_no, 0), block_no(set.set_no + 1, 0) - 1);
        // The SQL index over spans shows which pages need not be read.
        let sql = match (blocks, gate.span) {
            (Some(_), _) => {
                "SELECT block, keys, codes, first, last FROM vector_codes WHERE block = ?1 AND last >= ?2 AND first <= ?3"
            }
            (None, (0, i64::MAX)) => {
                "SELECT block, keys, codes, first, last FROM vector_codes WHERE block BETWEEN ?1 AND ?2 AND ?3 <= ?4 ORDER BY block"
            }
            _ => {
                "SELECT block, keys, codes, first, last FROM vector_codes WHERE block IN (
                   SELECT block FROM vector_codes INDEXED BY vector_spans
                   WHERE block BETWEEN ?1 AND ?2 AND last >= ?3 AND first <= ?4)"
            }
        };
        let mut statement = self.conn.prepare_cached(sql)?;
        let Some(blocks) = blocks else {
            let rows = statement.query(params![from, to, gate.span.0, gate.span.1])?;
            return self.take(rows, set, probe, gate, best);
        };
        for block in &blocks[blocks.partition_point(|b| *b < from)..blocks.partition_point(|b| *b <= to)] {
            let rows = statement.query(params![block, gate.span.0, gate.span.1])?;
            if !self.take(rows, set, probe, gate, best)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Collects the candidates of some blocks of a set. `false`: interrupted at the deadline.
    fn take(&self, mut rows: Rows, set: &Set, probe: &Probe, gate: &Gate, best: &mut Best) -> Result<bool> {
        let from = block_no(set.set_no, 0);
        let (per, code, open) = (self.codes_at_once(), code_bytes(self.dimensions), gate.is_open());
        let (mut distances, mut allowed) = (Vec::with_capacity(per), Vec::with_capacity(per));
        loop {
            let r = match rows.next() {
                Ok(Some(r)) => r,
                Ok(None) => return Ok(true),
                Err(e) if interrupted(&e) => return Ok(false),
                Err(e) => return Err(e.into()),
            };
            let block = (r.get::<_, i64>(0)? - from) as usize;
            let (ValueRef::Blob(keys), ValueRef::Blob(codes)) = (r.get_ref(1)?, r.get_ref(2)?) else {
                return Err(torn());
            };
            let many = keys.len() / KEY_BYTES;
            if keys.len() % KEY_BYTES != 0 || codes.len() != many * code || block * per + many > set.vectors {
                return Err(torn());
            }
            let key = |i: usize| Key::unpack(&keys[i * KEY_BYTES..]);
            if !open {
                allowed.clear();
                allowed.extend((0..many).map(|i| gate.lets(key(i))));
                if !allowed.contains(&true) {
                    continue;
                }
            }
            let (first, last): (i64, i64) = (r.get(3)?, r.get(4)?);
            let from_here = &best.also[best.also.partition_point(|no| *no < first)..];
            let here = &from_here[..from_here.partition_point(|no| *no <= last)];
            if let (Some(least), Some(most)) = (here.first(), here.last()) {
                // Few keys are between them, so only their numbers are read from the other keys.
                for (i, packed) in keys.chunks_exact(KEY_BYTES).enumerate() {
                    let number = Key::number_of(packed);
                    if (*least..=*most).contains(&number) && here.binary_search(&number).is_ok() && (open || allowed[i])
                    {
                        best.met.push(Candidate { distance: 0, set_no: set.set_no, slot: block * per + i, number });
                    }
                }
            }
            probe.distances(codes, &mut distances);
            for (i, distance) in distances.iter().enumerate() {
                if *distance < best.bound && (open || allowed[i]) {
                    best.push(Candidate {
                        distance: *distance,
                        set_no: set.set_no,
                        slot: block * per + i,
                        number: key(i).number,
                    });
                }
            }
        }
    }

    /// Compares the bytes of candidates, in storage order. `false`: interrupted at the deadline.
    fn compare(&self, probe: &Probe, of: &mut Vec<Candidate>, mut each: impl FnMut(i64, f32)) -> Result<bool> {
        of.sort_unstable_by_key(|c| (c.set_no, c.slot));
        of.dedup_by_key(|c| (c.set_no, c.slot));
        let per = self.rows_at_once();
        let mut statement = self.conn.prepare_cached("SELECT data FROM vector_rows WHERE block = ?1")?;
        for page in of.chunk_by(|a, b| (a.set_no, a.slot / per) == (b.set_no, b.slot / per)) {
            let Some(first) = page.first() else { continue };
            let whole = statement
                .query_row([block_no(first.set_no, first.slot / per)], |r| {
                    let data = r.get_ref(0)?.as_blob()?;
                    for c in page {
                        let at = c.slot % per * self.dimensions;
                        let Some(row) = data.get(at..at + self.dimensions) else { return Ok(false) };
                        each(c.number, probe.similarity(row));
                    }
                    Ok(true)
                })
                .optional();
            match whole {
                Ok(Some(true)) => {}
                Ok(_) => return Err(torn()),
                Err(e) if interrupted(&e) => return Ok(false),
                Err(e) => return Err(e.into()),
            }
        }
        Ok(true)
    }
}

fn interrupted(e: &rusqlite::Error) -> bool {
    e.sqlite_error_code() == Some(rusqlite::ErrorCode::OperationInterrupted)
}

/// Returns the model whose vectors are stored.
pub(super) fn stored_model(conn: &Connection) -> Result<Option<String>> {
    Ok(conn
        .prepare_cached("SELECT value FROM meta WHERE key = 'vector-model'")?
        .query_row([], |r| r.get(0))
        .optional()?)
}
