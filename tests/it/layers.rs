//! The layer table of docs/DESIGN.md holds: no module imports what the table does not grant it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Module to what it may import, as the document says: rows `| wing::module | … | modules |` behind the heading "Layers".
fn table() -> BTreeMap<String, BTreeSet<String>> {
    let design = fs::read_to_string(root().join("docs/DESIGN.md")).unwrap();
    let section = design.split("\n## Layers").nth(1).unwrap().split("\n## ").next().unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    let names = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<BTreeSet<_>>();
    rows.map(|row| {
        let cells: Vec<&str> = row.trim_matches('|').split('|').collect();
        (names(cells[0]).into_iter().next().unwrap(), names(cells[2]))
    })
    .collect()
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The path of the module in a file, as `engine::compile::trie`.
fn module_of(file: &Path) -> Vec<String> {
    let relative = file.strip_prefix(root().join("src")).unwrap().with_extension("");
    let mut parts: Vec<String> = relative.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    if parts.last().is_some_and(|last| last == "mod") {
        parts.pop();
    }
    parts
}

/// Every path in the code that begins with `crate::` or `super::`, resolved.
fn imports(file: &Path) -> Vec<Vec<String>> {
    let module = module_of(file);
    let text = fs::read_to_string(file).unwrap();
    let code = text.split("#[cfg(test)]").next().unwrap();
    let mut found = Vec::new();
    for line in code.lines().filter(|line| !line.trim_start().starts_with("//")) {
        for (start, _) in line.match_indices("crate::").chain(line.match_indices("super::")) {
            let before = &line[..start];
            if before.ends_with("::") || before.ends_with(|c: char| c.is_alphanumeric() || c == '_') {
                continue; // inside a longer path, or another word
            }
            let words: Vec<&str> =
                line[start..].split(|c: char| !c.is_alphanumeric() && c != '_' && c != ':').next().unwrap().split("::").collect();
            let mut path = if words[0] == "crate" { Vec::new() } else { module.clone() };
            for word in words {
                match word {
                    "crate" | "" => {}
                    "super" => drop(path.pop()),
                    name => path.push(name.to_owned()),
                }
            }
            found.push(path);
        }
    }
    found
}

/// `wing::module`, or the wing alone for one that is a module itself.
fn layer(path: &[String], table: &BTreeMap<String, BTreeSet<String>>) -> Option<String> {
    let pair = path.iter().take(2).cloned().collect::<Vec<_>>().join("::");
    let wing = path.first().cloned().unwrap_or_default();
    [pair, wing].into_iter().find(|name| table.contains_key(name))
}

#[test]
fn modules_import_only_what_the_table_grants() {
    let table = table();
    assert!(table.len() >= 15, "the table was read: {table:?}");
    let mut files = Vec::new();
    sources(&root().join("src"), &mut files);
    let mut seen = BTreeSet::new();
    let mut wrong = Vec::new();
    for file in files.iter().filter(|file| !file.ends_with("lib.rs") && !file.to_string_lossy().contains("/bin/")) {
        let module = module_of(file);
        if module.len() == 1 && layer(&module, &table).is_none() {
            continue; // the list of a wing's modules
        }
        let Some(own) = layer(&module, &table) else {
            wrong.push(format!("{} is in no row of the table", module.join("::")));
            continue;
        };
        seen.insert(own.clone());
        for path in imports(file) {
            match layer(&path, &table) {
                Some(other) if other == own || table[&own].contains(&other) => {}
                Some(other) => wrong.push(format!("{own} imports {other} ({})", file.display())),
                None => wrong.push(format!("{own} imports {}, which no row names ({})", path.join("::"), file.display())),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let missing: Vec<_> = table.keys().filter(|name| !seen.contains(*name)).collect();
    assert!(missing.is_empty(), "rows without a module: {missing:?}");
}

#[test]
fn the_table_has_no_cycle() {
    let table = table();
    let mut done: BTreeSet<&String> = BTreeSet::new();
    while done.len() < table.len() {
        let ready: Vec<_> =
            table.iter().filter(|(name, may)| !done.contains(name) && may.iter().all(|other| done.contains(other))).collect();
        assert!(!ready.is_empty(), "a cycle among {:?}", table.keys().filter(|name| !done.contains(name)).collect::<Vec<_>>());
        done.extend(ready.into_iter().map(|(name, _)| name));
    }
}

#[test]
fn unsafe_code_stays_in_its_files() {
    let mut files = Vec::new();
    sources(&root().join("src"), &mut files);
    let holds =
        |file: &PathBuf| fs::read_to_string(file).unwrap().lines().any(|line| line.contains("unsafe {") || line.contains("unsafe fn"));
    let found: BTreeSet<_> = files.iter().filter(|file| holds(file)).map(|file| module_of(file).join("::")).collect();
    let expected = ["bin::robosieve::fault", "engine::matcher::waves", "engine::scan::avx2", "engine::scan::avx512", "store::map"];
    assert_eq!(found, expected.map(str::to_owned).into());
}
