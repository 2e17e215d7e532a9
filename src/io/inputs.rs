//! Which files a run reads, and in which form they are: by their names, or as told.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The form of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// A URL a line.
    Lines,
    /// Comma-separated values with a header (RFC 4180).
    Csv,
    /// The same, separated by tabs.
    Tsv,
    /// A JSON object a line.
    JsonLines,
    /// An Arrow IPC file.
    ArrowFile,
    /// An Arrow IPC stream.
    ArrowStream,
    /// A Parquet file.
    Parquet,
}

impl Format {
    /// All of them.
    pub const ALL: [Format; 7] =
        [Format::Lines, Format::Csv, Format::Tsv, Format::JsonLines, Format::ArrowFile, Format::ArrowStream, Format::Parquet];

    /// Its name, as options take it.
    pub fn name(self) -> &'static str {
        match self {
            Format::Lines => "lines",
            Format::Csv => "csv",
            Format::Tsv => "tsv",
            Format::JsonLines => "jsonl",
            Format::ArrowFile => "arrow",
            Format::ArrowStream => "arrows",
            Format::Parquet => "parquet",
        }
    }

    /// The form of that name.
    pub fn by_name(name: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|format| format.name() == name)
    }

    /// What the end of a file's name says, that of a compression before it aside.
    ///
    /// ```
    /// use std::path::Path;
    /// use robosieve::io::inputs::Format;
    ///
    /// assert_eq!(Format::of_file_name(Path::new("crawl/part-0.parquet")), Some(Format::Parquet));
    /// assert_eq!(Format::of_file_name(Path::new("urls.jsonl.gz")), Some(Format::JsonLines));
    /// assert_eq!(Format::of_file_name(Path::new("README")), None);
    /// ```
    pub fn of_file_name(path: &Path) -> Option<Format> {
        let compressed = ["gz", "zst", "zstd"];
        let mut path = path.to_path_buf();
        let extension = |path: &Path| path.extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase());
        if extension(&path).is_some_and(|extension| compressed.contains(&&extension[..])) {
            path.set_extension("");
        }
        Some(match &extension(&path)?[..] {
            "txt" | "urls" | "lst" | "list" => Format::Lines,
            "csv" => Format::Csv,
            "tsv" | "tab" => Format::Tsv,
            "jsonl" | "ndjson" | "jl" => Format::JsonLines,
            "arrow" | "ipc" | "feather" => Format::ArrowFile,
            "arrows" => Format::ArrowStream,
            "parquet" | "pq" => Format::Parquet,
            _ => return None,
        })
    }

    /// Whether it is a text, of which a record after another can be written anywhere.
    pub fn is_text(self) -> bool {
        matches!(self, Format::Lines | Format::Csv | Format::Tsv | Format::JsonLines)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A file to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputFile {
    /// Where it is; `-` for standard input.
    pub path: PathBuf,
    /// Its name below the directory that was given, or its own.
    pub relative: PathBuf,
    /// Its form.
    pub format: Format,
}

/// What was found at the paths given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Inputs {
    /// The files, in the order given, those of a directory by name.
    pub files: Vec<InputFile>,
    /// Files in directories whose names do not say what they are.
    pub unknown: Vec<PathBuf>,
    /// Whether a directory was given.
    pub from_directory: bool,
}

impl Inputs {
    /// Finds the files at `paths`: files as they are, and those in directories, and folders in them, whose names say their form; all, if `format` is given.
    ///
    /// A file outside a directory whose name says nothing is a list of lines. Files in directories whose names begin with `.` or `_` are none: those are
    /// what other programs leave there.
    ///
    /// # Errors
    ///
    /// When a path can not be looked at, with that path.
    pub fn find(paths: &[PathBuf], format: Option<Format>) -> Result<Inputs, (PathBuf, io::Error)> {
        let mut inputs = Inputs::default();
        for path in paths {
            if path != Path::new("-") && fs::metadata(path).map_err(|error| (path.clone(), error))?.is_dir() {
                inputs.from_directory = true;
                inputs.walk(path, Path::new(""), format)?;
                continue;
            }
            let relative = PathBuf::from(path.file_name().unwrap_or(path.as_os_str()));
            let format = format.or_else(|| Format::of_file_name(path)).unwrap_or(Format::Lines);
            inputs.files.push(InputFile { path: path.clone(), relative, format });
        }
        Ok(inputs)
    }

    fn walk(&mut self, folder: &Path, relative: &Path, format: Option<Format>) -> Result<(), (PathBuf, io::Error)> {
        let failed = |error: io::Error| (folder.to_path_buf(), error);
        let mut names =
            fs::read_dir(folder).map_err(failed)?.map(|entry| Ok(entry?.file_name())).collect::<io::Result<Vec<_>>>().map_err(failed)?;
        names.sort();
        for name in names.into_iter().filter(|name| !matches!(name.as_encoded_bytes(), [b'.' | b'_', ..])) {
            let (path, relative) = (folder.join(&name), relative.join(&name));
            // A link that leads nowhere is no file.
            let Ok(metadata) = fs::metadata(&path) else { continue };
            if metadata.is_dir() {
                // Not round in circles.
                if !fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_symlink()) {
                    self.walk(&path, &relative, format)?;
                }
                continue;
            }
            match format.or_else(|| Format::of_file_name(&path)) {
                Some(format) => self.files.push(InputFile { path, relative, format }),
                None => self.unknown.push(path),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_folders_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| folder.path().join(name);
        fs::create_dir_all(place("part/deep")).unwrap();
        for name in ["b.parquet", "a.txt.gz", "README", "_SUCCESS", ".b.parquet.crc", "part/deep/c.CSV", "part/x.zst"] {
            fs::write(place(name), "").unwrap();
        }
        let found = Inputs::find(&[place("README"), folder.path().to_path_buf()], None).unwrap();
        let files: Vec<_> = found.files.iter().map(|file| (file.relative.to_str().unwrap(), file.format)).collect();
        let expected =
            [("README", Format::Lines), ("a.txt.gz", Format::Lines), ("b.parquet", Format::Parquet), ("part/deep/c.CSV", Format::Csv)];
        assert_eq!(files, expected);
        assert_eq!(found.unknown, [place("README"), place("part/x.zst")]);
        assert!(found.from_directory);
        let all = Inputs::find(&[folder.path().to_path_buf()], Some(Format::Lines)).unwrap();
        assert_eq!((all.files.len(), all.unknown.len()), (5, 0));
        assert_eq!(Inputs::find(&[place("none")], None).unwrap_err().0, place("none"));
        let stdin = Inputs::find(&[PathBuf::from("-")], Some(Format::Tsv)).unwrap();
        assert_eq!((stdin.files[0].format, stdin.from_directory), (Format::Tsv, false));
    }

    #[cfg(unix)]
    #[test]
    fn a_circle_of_links_ends() {
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(folder.path(), folder.path().join("again")).unwrap();
        std::os::unix::fs::symlink("nowhere", folder.path().join("a.txt")).unwrap();
        fs::write(folder.path().join("b.txt"), "").unwrap();
        assert_eq!(Inputs::find(&[folder.path().to_path_buf()], None).unwrap().files.len(), 1);
    }
}
