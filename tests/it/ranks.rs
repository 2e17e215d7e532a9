//! Programs that know rules, made of programs that know verdicts.

use std::fs;
use std::path::PathBuf;

use robosieve::compile::{Options, compile, with_ranks};
use robosieve::dialect::{Dialect, RFC9309};
use robosieve::policy::Policy;
use robosieve::program::{Detail, Program};

use crate::corpus;
use crate::hostile;

/// Whether the octets are those that compiling the policy for rules gives.
fn check(name: &str, robots: &[u8], dialect: &Dialect) {
    let policy = Policy::parse(robots, dialect);
    let verdicts = compile(&policy, &Options::default());
    let ranked = with_ranks(&Program::check(&verdicts).unwrap()).unwrap();
    assert!(ranked == compile(&policy, &Options::default().with_detail(Detail::Rules)), "{name} in {}", dialect.name);
    assert!(with_ranks(&Program::check(&ranked).unwrap()).unwrap() == ranked, "{name} in {}: not the same twice", dialect.name);
}

#[test]
fn of_the_sample() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("data/sample/robots");
    let files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(files.len() > 30);
    for file in files {
        Dialect::ALL.iter().for_each(|dialect| check(&file.display().to_string(), &fs::read(&file).unwrap(), dialect));
    }
}

#[test]
fn of_hostile_files() {
    for (name, kind) in hostile::KINDS {
        check(name, &kind().robots, &RFC9309);
    }
}

#[test]
fn of_real_files() {
    for archive in ["robots-top.tar.zst", "robots-gov.tar.zst"] {
        let Some(bodies) = corpus::bodies(archive, "of_real_files") else { return };
        for (name, body) in &bodies {
            Dialect::ALL.iter().for_each(|dialect| check(name, body, dialect));
        }
        eprintln!("{archive}: {} files, octet for octet", bodies.len());
        assert!(bodies.len() > 4000);
    }
}

/// Whatever octet of a program changes, it is made anew or called corrupt.
#[test]
fn of_damaged_programs() {
    let robots = b"User-agent: *\nDisallow: /a*b%2Fc*d$\nDisallow: /ab*cd*e\nAllow: /abc\nDisallow: /*x\nUser-agent: b\nDisallow: /abc*f$\nAllow: /a\n";
    let octets = compile(&Policy::parse(robots, &RFC9309), &Options::default());
    let mut made = 0;
    for at in 0..octets.len() {
        for flip in [1, 0x80, 0xFF] {
            let mut damaged = octets.clone();
            damaged[at] ^= flip;
            // Unchecked octets too: whoever was shown a header alone.
            if let Ok(program) = Program::view(&damaged) {
                made += usize::from(with_ranks(&program).is_ok());
            }
        }
    }
    assert!(made > octets.len() / 10 && made < octets.len() * 3, "{made} of {}", octets.len() * 3);
}
