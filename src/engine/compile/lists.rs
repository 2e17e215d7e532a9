//! Lists of numbers, each kept once and named by a number.

use std::hash::BuildHasher;

use super::hash::{Keyed, Map};

/// Lists by their numbers, from 1. The empty one is [`EMPTY`], and never kept.
#[derive(Debug, Default)]
pub(super) struct Lists {
    numbers: Vec<u32>,
    /// Where each list ends.
    ends: Vec<usize>,
    /// The list of the same hash before each, and the last list of each hash, once there are many.
    before: Vec<u32>,
    last: Map<u64, u32>,
}

pub(super) const EMPTY: u32 = 0;

/// So many lists are looked through as fast as one is hashed.
const FEW: usize = 8;

impl Lists {
    /// How many there are but for the empty one.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    #[inline]
    pub(super) fn of(&self, list: u32) -> &[u32] {
        match list as usize {
            0 => &[],
            1 => &self.numbers[..self.ends[0]],
            list => &self.numbers[self.ends[list - 2]..self.ends[list - 1]],
        }
    }

    /// The number of a list, which is kept if it is new.
    pub(super) fn name(&mut self, items: &[u32]) -> u32 {
        if items.is_empty() {
            return EMPTY;
        }
        let next = self.ends.len() as u32 + 1;
        if self.ends.len() < FEW {
            if let Some(known) = (1..next).find(|&list| self.of(list) == items) {
                return known;
            }
        } else {
            if self.ends.len() == FEW {
                (1..next).for_each(|list| self.hash(list));
            }
            let mut list = self.last.get(&hash(items)).copied().unwrap_or(EMPTY);
            while list != EMPTY {
                if self.of(list) == items {
                    return list;
                }
                list = self.before[list as usize - 1];
            }
        }
        self.numbers.extend_from_slice(items);
        self.ends.push(self.numbers.len());
        if self.ends.len() > FEW {
            self.hash(next);
        }
        next
    }

    /// Enters a list, the one behind those that were entered before.
    fn hash(&mut self, list: u32) {
        if self.before.len() < list as usize {
            let before = self.last.insert(hash(self.of(list)), list).unwrap_or(EMPTY);
            self.before.push(before);
        }
    }
}

fn hash(items: &[u32]) -> u64 {
    Keyed::default().hash_one(items)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_lists_have_one_number() {
        let mut lists = Lists::default();
        let list = |number: u32| (0..number % 40).map(|item| item * number % 7).collect::<Vec<u32>>();
        let numbers: Vec<u32> = (0..400).map(|number| lists.name(&list(number))).collect();
        for (number, &name) in (0..).zip(&numbers) {
            assert_eq!(lists.of(name), list(number));
            assert_eq!(lists.name(&list(number)), name);
            assert_eq!(numbers.iter().position(|&other| other == name), (0..400).position(|other| list(other) == list(number)));
        }
        assert_eq!(lists.len() as u32, *numbers.iter().max().unwrap());
    }
}
