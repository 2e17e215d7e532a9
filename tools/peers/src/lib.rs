//! What the comparison with other robots.txt programs is made of: the files to run on, the peers, the clock.

pub mod clock;
pub mod corpus;
#[path = "../../../benches/hostile/mod.rs"]
pub mod hostile;
pub mod peer;
pub mod policy;
#[path = "../../../benches/random/mod.rs"]
mod random;

#[cfg(test)]
mod tests {
    use crate::hostile::KINDS;

    #[test]
    fn sizes_are_those_asked_for() {
        for kind in KINDS {
            let len = kind.robots(50_000).len();
            assert!((49_000..=50_000).contains(&len), "{}: {len}", kind.name);
            assert_eq!(kind.target(8192, 1).len(), 8192, "{}", kind.name);
        }
    }

    #[test]
    fn every_rule_has_a_star() {
        for kind in KINDS {
            let robots = String::from_utf8(kind.robots(5_000)).unwrap();
            assert!(robots.lines().skip(1).all(|line| line.contains('*')), "{}", kind.name);
        }
    }
}
