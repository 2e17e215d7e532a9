//! Every input that once broke a claim, and some that look as if they might, kept in tests/regressions/, a folder a claim.

use std::fs;
use std::path::Path;

use crate::claims;

#[test]
fn every_kept_input_holds_its_claims() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/regressions");
    for (name, claim) in claims::ALL {
        let mut count = 0;
        for entry in fs::read_dir(folder.join(name)).unwrap() {
            let path = entry.unwrap().path();
            eprintln!("{}", path.display());
            claim(&fs::read(&path).unwrap());
            count += 1;
        }
        assert!(count > 0, "no inputs for {name}");
    }
}
