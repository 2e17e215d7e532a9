//! The automaton as the block walk wants it: a copy, proved closed, in which a step is one look-up whatever the state.
//!
//! ```text
//!   row     0 … │            │ …              │ …
//!   state   finals, by level │ slow │ chains  │ states with ways on
//!           └──── every class leads back ─────┘ │
//!                 to the row itself             └─ `live`: from here on a walk goes on
//! ```
//!
//! * A state is where its row begins or, in a large automaton, the number of its row: with numbers of 32 bits it would be twice as large, and a
//!   multiplication costs less than a miss in the cache. Rows are an odd number of entries long and finals lie so that the parity of a final is that of its level: the
//!   lowest bit of where a walk ended is the verdict. And finals lie in order of their levels: which of two is higher, their numbers tell.
//! * A walk that is over stays where it is, so a few steps can be made for every line without asking.
//! * LF and CR are ends of a target, so the walk needs no length.
//! * The first two octets behind the `/` are one look-up.
//! * One entry of a row, behind those of the classes, is no state: the level of a final, the number of a chain.
//!
//! The copy is made when enough rows ask for it, so the hot loop reads nothing that anybody else can write.

use crate::engine::program::dfa;
use crate::engine::program::view::DfaView;
use crate::engine::scan::prefetch;

/// Octets that a chain is compared by at once: longer ones are cut into several.
pub(super) const CHAIN_LEN: usize = 32;
/// The largest copy that is worth its making, in entries.
const MAX_ENTRIES: usize = 1 << 22;

/// A number of a state.
pub(super) trait StateId: Copy + Eq + Ord + Default {
    fn of(index: usize) -> Option<Self>;
    fn index(self) -> usize;
    /// The state of a row, and where the row of a state begins, in a table of rows that are so long.
    fn of_row(row: usize, stride: usize) -> Option<Self>;
    fn start(self, stride: usize) -> usize;
    /// The lowest sixteen bits.
    fn low(self) -> u16;
}

impl StateId for u16 {
    #[inline(always)]
    fn of(index: usize) -> Option<u16> {
        u16::try_from(index).ok()
    }

    #[inline(always)]
    fn index(self) -> usize {
        usize::from(self)
    }

    fn of_row(row: usize, stride: usize) -> Option<u16> {
        u16::of(row * stride)
    }

    #[inline(always)]
    fn start(self, _: usize) -> usize {
        usize::from(self)
    }

    #[inline(always)]
    fn low(self) -> u16 {
        self
    }
}

/// The number of a row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Row(u16);

impl StateId for Row {
    #[inline(always)]
    fn of(index: usize) -> Option<Row> {
        u16::try_from(index).ok().map(Row)
    }

    #[inline(always)]
    fn index(self) -> usize {
        usize::from(self.0)
    }

    fn of_row(row: usize, _: usize) -> Option<Row> {
        Row::of(row)
    }

    #[inline(always)]
    fn start(self, stride: usize) -> usize {
        usize::from(self.0) * stride
    }

    #[inline(always)]
    fn low(self) -> u16 {
        self.0
    }
}

/// A stretch that leads on one way alone.
#[derive(Debug, Clone)]
pub(super) struct Chain<S> {
    /// Its octets, of which the first `len` count.
    pub(super) octets: [u8; CHAIN_LEN],
    /// Where it begins, in octets from the start of a target: the same for all ways to it.
    pub(super) depth: u32,
    pub(super) len: u32,
    /// Where a target that holds it goes on, and where one that leaves it ends.
    pub(super) next: S,
    pub(super) broken: S,
}

/// The automaton, for one kind of numbers.
#[derive(Debug)]
pub(super) struct Automaton<S> {
    pub(super) classes: [u8; 256],
    class_count: usize,
    /// The state behind `/` and two octets more, by their classes.
    pub(super) entry: Vec<S>,
    pub(super) table: Vec<S>,
    pub(super) start: S,
    pub(super) slow: S,
    pub(super) live: S,
    pub(super) chains: Vec<Chain<S>>,
    /// The final state of each level, in order of both.
    finals: Vec<(u32, S)>,
    /// How long a row is. Its last entry is no state.
    stride: usize,
}

/// The automaton of one rule set, with the numbers that it needs.
#[derive(Debug)]
pub(super) enum Kernel {
    Narrow(Automaton<u16>),
    Wide(Automaton<Row>),
}

impl Kernel {
    /// A copy of `dfa`, with final states for `levels` as well; `level_of` tells the level of a value. `None` if the automaton is not one that the walk can
    /// use.
    pub(super) fn new(dfa: &DfaView<'_>, levels: Vec<u32>, level_of: impl Fn(u32) -> Option<u32>) -> Option<Kernel> {
        let plan = Plan::new(dfa, levels, level_of)?;
        match plan.row_count() * plan.stride <= usize::from(u16::MAX) {
            true => plan.build(dfa).map(Kernel::Narrow),
            false => plan.build(dfa).map(Kernel::Wide),
        }
    }

    /// The final state of a level.
    pub(super) fn final_state(&self, level: u32) -> Option<u32> {
        match self {
            Kernel::Narrow(automaton) => automaton.final_state(level),
            Kernel::Wide(automaton) => automaton.final_state(level),
        }
    }

    /// Size in octets.
    pub(super) fn octet_len(&self) -> usize {
        match self {
            Kernel::Narrow(automaton) => automaton.octet_len(),
            Kernel::Wide(automaton) => automaton.octet_len(),
        }
    }
}

/// A kernel that is known to have states of one kind.
pub(super) trait Of<S> {
    fn automaton(&self) -> &Automaton<S>;
}

impl Of<u16> for Kernel {
    #[inline(always)]
    fn automaton(&self) -> &Automaton<u16> {
        match self {
            Kernel::Narrow(automaton) => automaton,
            Kernel::Wide(_) => unreachable!("a wide kernel is asked alone"),
        }
    }
}

impl Of<Row> for Kernel {
    #[inline(always)]
    fn automaton(&self) -> &Automaton<Row> {
        match self {
            Kernel::Wide(automaton) => automaton,
            Kernel::Narrow(_) => unreachable!("a narrow kernel is asked with narrow states"),
        }
    }
}

impl<S: StateId> Automaton<S> {
    /// The final state of a level.
    fn final_state(&self, level: u32) -> Option<u32> {
        let at = self.finals.binary_search_by_key(&level, |(known, _)| *known).ok()?;
        Some(self.finals[at].1.index() as u32)
    }

    /// The level of a final state.
    #[inline(always)]
    pub(super) fn level(&self, state: S) -> u32 {
        self.table[self.start_of(state) + self.stride - 1].index() as u32
    }

    /// The chain of a chain's state.
    #[inline(always)]
    pub(super) fn chain(&self, state: S) -> &Chain<S> {
        &self.chains[self.table[self.start_of(state) + self.stride - 1].index()]
    }

    /// Where the row of a state begins in the table.
    #[inline(always)]
    pub(super) fn start_of(&self, state: S) -> usize {
        state.start(self.stride)
    }

    /// The state behind `/` and two octets.
    #[inline(always)]
    pub(super) fn enter(&self, first: u8, second: u8) -> S {
        let class = |octet: u8| usize::from(self.classes[usize::from(octet)]);
        self.entry[class(first) * self.class_count + class(second)]
    }

    /// Brings what most walks begin with into the cache.
    #[inline(always)]
    pub(super) fn prefetch(&self) {
        // The classes of `-`, `.`, digits and letters.
        self.classes.as_chunks::<64>().0.iter().take(2).for_each(prefetch);
        let letters = self.class_count * usize::from(self.classes[usize::from(b'a')]);
        self.entry[letters..].iter().step_by(32).take(16).for_each(prefetch);
    }

    #[inline(always)]
    pub(super) fn is_slow_octet(&self, octet: u8) -> bool {
        self.classes[usize::from(octet)] == dfa::CLASS_SLOW
    }

    fn octet_len(&self) -> usize {
        (self.entry.len() + self.table.len()) * size_of::<S>() + self.chains.len() * size_of::<Chain<S>>() + size_of::<Self>()
    }

    /// Whether no step leads out of the table: the walk relies on it.
    fn is_closed(&self) -> bool {
        let stride = self.stride;
        let valid = |state: &S| self.start_of(*state).is_multiple_of(stride) && self.start_of(*state) < self.table.len();
        let is_end = |row: &[S]| row[usize::from(dfa::CLASS_END)] < self.slow;
        let rows = self.table.chunks(stride).all(|row| row.len() == stride && row[..stride - 1].iter().all(valid));
        let live = self.table.chunks(stride).skip(self.start_of(self.live) / stride).all(is_end);
        let classes = self.classes.iter().all(|&class| usize::from(class) < self.class_count);
        let chains = self.chains.iter().all(|chain| valid(&chain.next) && chain.broken < self.slow);
        rows && live && classes && chains && self.entry.len() == self.class_count.pow(2) && self.entry.iter().all(valid)
    }
}

/// Where everything goes.
struct Plan {
    class_count: usize,
    stride: usize,
    /// The levels of final rows, in order of both, and how many such rows there are: some only keep the parity.
    finals: Vec<(u32, usize)>,
    final_count: usize,
    /// Pieces of chains.
    chains: Vec<Piece>,
    /// Of each special state of the automaton, its row.
    special_rows: Vec<usize>,
    state_count: usize,
}

struct Piece {
    octets: Vec<u8>,
    depth: u32,
    level: u32,
    /// The automaton's number of the state behind it; `None` where the next piece follows.
    next: Option<u32>,
}

impl Plan {
    fn new(dfa: &DfaView<'_>, mut final_levels: Vec<u32>, level_of: impl Fn(u32) -> Option<u32>) -> Option<Plan> {
        let class_count = dfa.stride as usize;
        let mut plan = Plan {
            class_count,
            stride: (class_count + 1) | 1,
            finals: Vec::new(),
            final_count: 0,
            chains: Vec::new(),
            special_rows: Vec::new(),
            state_count: dfa.state_count as usize,
        };
        if plan.state_count.checked_add(dfa.special_count as usize)?.checked_mul(plan.stride)? > MAX_ENTRIES {
            return None;
        }
        let depths = chain_depths(dfa)?;
        let specials: Vec<_> = (0..dfa.special_count).map(|index| dfa.special(index)).collect::<Option<_>>()?;
        let levels = specials.iter().map(|special| level_of(special.value)).collect::<Option<Vec<_>>>()?;
        final_levels.extend(&levels);
        final_levels.sort_unstable();
        final_levels.dedup();
        for level in final_levels {
            let row = plan.final_count + usize::from(plan.final_count % 2 != level as usize % 2);
            plan.finals.push((level, row));
            plan.final_count = row + 1;
        }
        for (index, special) in specials.iter().enumerate() {
            let row = match special.kind {
                dfa::KIND_FINAL => plan.final_row(levels[index])?,
                dfa::KIND_CHAIN => {
                    let row = plan.first_chain() + plan.chains.len();
                    plan.add_chain(dfa.chain(special)?, depths[index]?, levels[index], special.next);
                    row
                }
                _ => plan.final_count,
            };
            plan.special_rows.push(row);
        }
        Some(plan)
    }

    fn final_row(&self, level: u32) -> Option<usize> {
        let at = self.finals.binary_search_by_key(&level, |(known, _)| *known).ok()?;
        Some(self.finals[at].1)
    }

    /// Behind the finals and the slow state.
    fn first_chain(&self) -> usize {
        self.final_count + 1
    }

    fn first_live(&self) -> usize {
        self.first_chain() + self.chains.len()
    }

    fn row_count(&self) -> usize {
        self.first_live() + self.state_count
    }

    fn add_chain(&mut self, octets: &[u8], depth: u32, level: u32, next: u32) {
        let count = octets.len().div_ceil(CHAIN_LEN);
        for (index, piece) in octets.chunks(CHAIN_LEN).enumerate() {
            let next = (index + 1 == count).then_some(next);
            self.chains.push(Piece { octets: piece.to_vec(), depth: depth + (index * CHAIN_LEN) as u32, level, next });
        }
    }

    fn build<S: StateId>(&self, dfa: &DfaView<'_>) -> Option<Automaton<S>> {
        let state = |row: usize| S::of_row(row, self.stride);
        let number = |reference: u32| match self.special_rows.get(reference as usize) {
            Some(&row) => state(row),
            None => state(self.first_live() + ((reference - dfa.special_count) / dfa.stride) as usize),
        };
        let mut table = Vec::with_capacity(self.row_count() * self.stride);
        for row in 0..self.first_live() {
            table.resize(table.len() + self.stride - 1, state(row)?);
            table.push(S::of(row.saturating_sub(self.first_chain()))?);
        }
        for &(level, row) in &self.finals {
            table[(row + 1) * self.stride - 1] = S::of(level as usize)?;
        }
        for row in 0..self.state_count {
            for class in 0..self.class_count {
                table.push(number(dfa.entry(row * self.class_count + class)?)?);
            }
            table.resize((self.first_live() + row + 1) * self.stride, state(0)?);
        }
        let mut classes = *dfa.classes;
        classes[usize::from(b'\n')] = dfa::CLASS_END;
        classes[usize::from(b'\r')] = dfa::CLASS_END;
        let mut automaton = Automaton {
            class_count: self.class_count,
            classes,
            entry: Vec::new(),
            table,
            start: number(dfa.start)?,
            slow: state(self.final_count)?,
            live: state(self.first_live())?,
            chains: self.chains.iter().enumerate().map(|(index, piece)| self.chain(index, piece, number)).collect::<Option<_>>()?,
            finals: self.finals.iter().map(|&(level, row)| Some((level, state(row)?))).collect::<Option<_>>()?,
            stride: self.stride,
        };
        automaton.entry = automaton.entries();
        let walks_on = |chain: &Chain<S>| {
            let octets = &chain.octets[..chain.len as usize];
            chain.len > 0 && octets.iter().all(|&octet| automaton.classes[usize::from(octet)] > dfa::CLASS_SLOW)
        };
        let is_sound = automaton.chains.iter().all(walks_on) && automaton.is_closed();
        is_sound.then_some(automaton)
    }

    fn chain<S: StateId>(&self, index: usize, piece: &Piece, number: impl Fn(u32) -> Option<S>) -> Option<Chain<S>> {
        let mut octets = [0; CHAIN_LEN];
        octets[..piece.octets.len()].copy_from_slice(&piece.octets);
        let next = match piece.next {
            Some(next) => number(next)?,
            None => S::of_row(self.first_chain() + index + 1, self.stride)?,
        };
        Some(Chain {
            octets,
            depth: piece.depth,
            len: piece.octets.len() as u32,
            next,
            broken: S::of_row(self.final_row(piece.level)?, self.stride)?,
        })
    }
}

impl<S: StateId> Automaton<S> {
    /// The states behind `/` and two octets, by their classes.
    fn entries(&self) -> Vec<S> {
        let class_count = self.class_count;
        let step = |state: S, class: usize| self.table[self.start_of(state) + class];
        let slash = step(self.start, usize::from(self.classes[usize::from(b'/')]));
        let behind = |first: usize, second: usize| step(step(slash, first), second);
        (0..class_count).flat_map(|first| (0..class_count).map(move |second| (first, second))).map(|(a, b)| behind(a, b)).collect()
    }
}

/// Where each chain begins, in octets from the start of a target. `None` if there are two ways of different length to one.
fn chain_depths(dfa: &DfaView<'_>) -> Option<Vec<Option<u32>>> {
    let mut depths = vec![None; dfa.special_count as usize];
    let mut rows = vec![false; dfa.state_count as usize];
    let mut pending = vec![(dfa.start, 0u32)];
    while let Some((reference, depth)) = pending.pop() {
        if let Some(row) = reference.checked_sub(dfa.special_count) {
            if std::mem::replace(rows.get_mut((row / dfa.stride) as usize)?, true) {
                continue;
            }
            for class in u32::from(dfa::CLASS_SLOW) + 1..dfa.stride {
                pending.push((dfa.entry((row + class) as usize)?, depth + 1));
            }
            continue;
        }
        let special = dfa.special(reference)?;
        if special.kind != dfa::KIND_CHAIN {
            continue;
        }
        match depths.get_mut(reference as usize)? {
            Some(known) if *known == depth => {}
            Some(_) => return None,
            unknown => {
                *unknown = Some(depth);
                pending.push((special.next, depth + dfa.chain(&special)?.len() as u32));
            }
        }
    }
    Some(depths)
}
