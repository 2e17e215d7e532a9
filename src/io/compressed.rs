//! Compressed inputs and outputs: gzip (feature `gzip`) and zstd, known by their first octets.
//!
//! Decoding costs more than deciding, so it has a thread of its own, which is ahead by a few buffers.
//!
//! ```text
//!  file ──▶ [ decode ] ──▶ ▢ ▢ ▢ ──▶ read ──▶ cut, parse, decide
//!               ▲                      │
//!               └──── empty buffers ◀──┘
//! ```

#[cfg(feature = "gzip")]
use std::io::BufRead;
use std::io::{self, BufReader, Read, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

/// How a file is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Compression {
    /// It is not.
    #[default]
    None,
    /// gzip (RFC 1952): `.gz`.
    Gzip,
    /// Zstandard (RFC 8878): `.zst`, `.zstd`.
    Zstd,
}

impl Compression {
    /// How many octets tell.
    pub const MAGIC_LEN: usize = 4;

    /// As a file's name says.
    ///
    /// ```
    /// use std::path::Path;
    /// use robosieve::io::compressed::Compression;
    ///
    /// assert_eq!(Compression::of_name(Path::new("urls.txt.gz")), Compression::Gzip);
    /// assert_eq!(Compression::of_name(Path::new("urls.csv.ZST")), Compression::Zstd);
    /// assert_eq!(Compression::of_name(Path::new("urls.txt")), Compression::None);
    /// ```
    pub fn of_name(path: &Path) -> Compression {
        let extension = path.extension().and_then(|extension| extension.to_str()).map(str::to_ascii_lowercase);
        match extension.as_deref() {
            Some("gz") => Compression::Gzip,
            Some("zst" | "zstd") => Compression::Zstd,
            _ => Compression::None,
        }
    }

    /// As the first octets say. `head` is shorter than [`Compression::MAGIC_LEN`] only where there is no more.
    ///
    /// ```
    /// use robosieve::io::compressed::Compression;
    ///
    /// assert_eq!(Compression::of_octets(b"\x1F\x8B\x08\x00"), Compression::Gzip);
    /// assert_eq!(Compression::of_octets(b"\x28\xB5\x2F\xFD"), Compression::Zstd);
    /// assert_eq!(Compression::of_octets(b"http"), Compression::None);
    /// ```
    pub fn of_octets(head: &[u8]) -> Compression {
        match head {
            [0x1F, 0x8B, 0x08, ..] => Compression::Gzip,
            [0x28, 0xB5, 0x2F, 0xFD, ..] | [0x50..=0x5F, 0x2A, 0x4D, 0x18, ..] => Compression::Zstd,
            _ => Compression::None,
        }
    }

    /// The path without the ending that says how it is compressed: `urls.csv` for `urls.csv.gz`.
    ///
    /// ```
    /// use std::path::Path;
    /// use robosieve::io::compressed::Compression;
    ///
    /// assert_eq!(Compression::inner_name(Path::new("a/urls.csv.gz")), Path::new("a/urls.csv"));
    /// assert_eq!(Compression::inner_name(Path::new("a/urls.csv")), Path::new("a/urls.csv"));
    /// ```
    pub fn inner_name(path: &Path) -> std::path::PathBuf {
        match Compression::of_name(path) {
            Compression::None => path.to_path_buf(),
            Compression::Gzip | Compression::Zstd => path.with_extension(""),
        }
    }

    /// `gzip`, `zstd` or `none`.
    pub const fn name(self) -> &'static str {
        match self {
            Compression::None => "none",
            Compression::Gzip => "gzip",
            Compression::Zstd => "zstd",
        }
    }
}

impl std::fmt::Display for Compression {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

/// Octets of a buffer of decoded ones.
const BUFFER_LEN: usize = 256 << 10;

/// Buffers that decoding is ahead by.
const AHEAD: usize = 4;

/// Reads what a stream holds, compressed or not.
///
/// All members of a gzip and all frames of a zstd are read, with windows of up to 2 GiB; zeros behind a member of a gzip are padding. A stream that is compressed is
/// decoded by a thread of its own; one that is not is read as it is.
///
/// ```
/// use std::io::{Read, Write};
/// use robosieve::io::compressed::{Compression, Decoder, Encoder};
///
/// let mut encoder = Encoder::new(Vec::new(), Compression::Zstd)?;
/// encoder.write_all(b"https://example.com/\n")?;
/// let file = encoder.finish()?;
///
/// let mut list = String::new();
/// let mut decoder = Decoder::new(std::io::Cursor::new(file), Compression::Zstd)?;
/// assert_eq!(decoder.compression(), Compression::Zstd);
/// decoder.read_to_string(&mut list)?;
/// assert_eq!(list, "https://example.com/\n");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Decoder<R> {
    from: From<R>,
    compression: Compression,
}

#[derive(Debug)]
enum From<R> {
    Plain(io::Chain<io::Cursor<Vec<u8>>, R>),
    Thread(Ahead),
}

impl<R: Read + Send + 'static> Decoder<R> {
    /// Looks at the first octets of `stream`. `named` is what its name says ([`Compression::of_name`]): [`Compression::None`] where it says nothing.
    ///
    /// # Errors
    ///
    /// When the name says that it is compressed in a way that it is not, when it is compressed in a way that is not read, or when it can not be read.
    pub fn new(mut stream: R, named: Compression) -> io::Result<Decoder<R>> {
        let mut head = Vec::new();
        (&mut stream).take(OTHER_MAGIC_LEN as u64).read_to_end(&mut head)?;
        let compression = Compression::of_octets(&head);
        check(&head, compression, named)?;
        let stream = io::Cursor::new(head).chain(stream);
        let from = match compression {
            Compression::None => From::Plain(stream),
            Compression::Gzip => From::Thread(Ahead::of(gzip(stream)?)?),
            Compression::Zstd => From::Thread(Ahead::of(zstd(stream)?)?),
        };
        Ok(Decoder { from, compression })
    }
}

impl<R> Decoder<R> {
    /// How the stream is compressed.
    pub fn compression(&self) -> Compression {
        self.compression
    }
}

impl<R: Read> Read for Decoder<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.from {
            From::Plain(stream) => stream.read(buffer),
            From::Thread(ahead) => ahead.read(buffer),
        }
    }
}

/// Octets by which other formats are known.
const OTHER_MAGIC_LEN: usize = 6;

/// The name of a compression that is not read.
fn other_compression(head: &[u8]) -> Option<&'static str> {
    match head {
        [0xFD, b'7', b'z', b'X', b'Z', 0] => Some("xz"),
        [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41] => Some("bzip2"),
        [b'P', b'K', 3, 4, ..] => Some("zip"),
        [0x04, 0x22, 0x4D, 0x18, ..] => Some("lz4"),
        _ => None,
    }
}

fn check(head: &[u8], found: Compression, named: Compression) -> io::Result<()> {
    if let Some(other) = other_compression(head) {
        return Err(io::Error::other(format!("the file is compressed with {other}, which is not read: decompress it first")));
    }
    if named == Compression::None || named == found {
        return Ok(());
    }
    Err(io::Error::other(match found {
        _ if head.is_empty() => format!("the name says {named}, and the file is empty"),
        Compression::None => format!("the name says {named}, and the file is not compressed so: rename it"),
        found => format!("the name says {named}, and the file is {found}: rename it"),
    }))
}

/// A compressed file that counts the octets that went out of it.
type File<R> = BufReader<Counted<R>>;

/// How many octets were read.
struct Counted<R> {
    stream: R,
    count: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.stream.read(buffer)?;
        self.count += read as u64;
        Ok(read)
    }
}

fn file<R: Read>(stream: R) -> File<R> {
    BufReader::with_capacity(128 << 10, Counted { stream, count: 0 })
}

/// Something that decodes a file.
trait Decode: Send {
    /// As [`Read::read`], with errors that say where in the file.
    fn decode(&mut self, buffer: &mut [u8]) -> io::Result<usize>;
}

/// Where in the file an error is.
fn at<R>(file: &File<R>, error: &io::Error, what: Compression) -> io::Error {
    let place = file.get_ref().count - file.buffer().len() as u64;
    let message = match error.kind() {
        io::ErrorKind::UnexpectedEof => format!("the {what} ends too early, at octet {place}: the file is not whole, get it again"),
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData | io::ErrorKind::Other => {
            format!("the {what} is damaged near octet {place} ({error}): get the file again")
        }
        _ => error.to_string(),
    };
    io::Error::new(error.kind(), message)
}

fn is_interrupted(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::Interrupted
}

#[cfg(feature = "gzip")]
fn gzip<R: Read + Send + 'static>(stream: R) -> io::Result<impl Decode + 'static> {
    Ok(Gzip { member: Some(flate2::bufread::GzDecoder::new(file(stream))), between: None })
}

#[cfg(not(feature = "gzip"))]
fn gzip<R: Read + Send + 'static>(_: R) -> io::Result<Zstd<R>> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "the file is gzip, which this build does not read (feature gzip): decompress it first"))
}

/// The members of a gzip, one behind the other: the crate's own decoder of many takes padding for a broken member.
#[cfg(feature = "gzip")]
struct Gzip<R> {
    member: Option<flate2::bufread::GzDecoder<File<R>>>,
    /// At the end.
    between: Option<File<R>>,
}

#[cfg(feature = "gzip")]
impl<R: Read + Send> Decode for Gzip<R> {
    fn decode(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            match member.read(buffer) {
                Ok(0) => {
                    let mut file = self.member.take().expect("just read").into_inner();
                    let padded = skip_zeros(&mut file)?;
                    match file.fill_buf()? {
                        [] => self.between = Some(file),
                        [0x1F, ..] => self.member = Some(flate2::bufread::GzDecoder::new(file)),
                        _ => {
                            let what = if padded { "padding" } else { "a member" };
                            let error = io::Error::new(io::ErrorKind::InvalidData, format!("behind {what} stands no other member"));
                            return Err(at(&file, &error, Compression::Gzip));
                        }
                    }
                }
                Ok(len) => return Ok(len),
                Err(error) if is_interrupted(&error) => {}
                Err(error) => return Err(at(member.get_ref(), &error, Compression::Gzip)),
            }
        }
        Ok(0)
    }
}

/// Skips padding; says whether there was any.
#[cfg(feature = "gzip")]
fn skip_zeros(file: &mut impl BufRead) -> io::Result<bool> {
    let mut skipped = false;
    loop {
        let octets = file.fill_buf()?;
        let zeros = octets.iter().take_while(|octet| **octet == 0).count();
        if zeros == 0 {
            return Ok(skipped);
        }
        skipped = true;
        file.consume(zeros);
    }
}

/// The logarithm of the longest window that is read: that of `zstd --long=31`.
const WINDOW_LOG_MAX: u32 = 31;

fn zstd<R: Read + Send + 'static>(stream: R) -> io::Result<Zstd<R>> {
    let mut frames = zstd::stream::read::Decoder::with_buffer(file(stream))?;
    frames.window_log_max(WINDOW_LOG_MAX)?;
    Ok(Zstd(frames))
}

struct Zstd<R: Read>(zstd::stream::read::Decoder<'static, File<R>>);

impl<R: Read + Send> Decode for Zstd<R> {
    fn decode(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.0.read(buffer) {
                Err(error) if is_interrupted(&error) => {}
                Err(error) => return Err(at(self.0.get_ref(), &error, Compression::Zstd)),
                read => return read,
            }
        }
    }
}

/// What a thread decodes ahead of who reads.
#[derive(Debug)]
struct Ahead {
    full: Receiver<io::Result<Vec<u8>>>,
    empty: SyncSender<Vec<u8>>,
    /// What is being read, and how much of it was.
    current: Vec<u8>,
    pos: usize,
    /// Until it ended.
    thread: Option<JoinHandle<()>>,
}

impl Ahead {
    fn of(decoder: impl Decode + 'static) -> io::Result<Ahead> {
        let (send_full, full) = sync_channel(AHEAD);
        let (empty, take_empty) = sync_channel(AHEAD + 2);
        let thread = std::thread::Builder::new().name("decode".to_owned()).spawn(move || decode_all(decoder, &send_full, &take_empty))?;
        Ok(Ahead { full, empty, current: Vec::new(), pos: 0, thread: Some(thread) })
    }

    /// Waits for more; `false` at the end.
    fn next(&mut self) -> io::Result<bool> {
        match self.full.recv() {
            Ok(buffer) => {
                let before = std::mem::replace(&mut self.current, buffer?);
                self.pos = 0;
                _ = self.empty.try_send(before);
                Ok(true)
            }
            Err(_) => {
                // Nobody sends any more: the thread ended, or panicked, which goes on here.
                if let Some(Err(panic)) = self.thread.take().map(JoinHandle::join) {
                    std::panic::resume_unwind(panic);
                }
                Ok(false)
            }
        }
    }
}

impl Read for Ahead {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.pos == self.current.len() {
            if !self.next()? {
                return Ok(0);
            }
        }
        let len = buffer.len().min(self.current.len() - self.pos);
        buffer[..len].copy_from_slice(&self.current[self.pos..self.pos + len]);
        self.pos += len;
        Ok(len)
    }
}

/// Decodes until the end, an error, or until nobody reads any more.
fn decode_all(mut decoder: impl Decode, full: &SyncSender<io::Result<Vec<u8>>>, empty: &Receiver<Vec<u8>>) {
    loop {
        let mut buffer = empty.try_recv().unwrap_or_default();
        buffer.resize(BUFFER_LEN, 0);
        let (len, end) = fill(&mut decoder, &mut buffer);
        buffer.truncate(len);
        if (len > 0 && full.send(Ok(buffer)).is_err()) || matches!(end, Some(Ok(()))) {
            return;
        }
        if let Some(Err(error)) = end {
            _ = full.send(Err(error));
            return;
        }
    }
}

/// Decodes until the buffer is full; gives how much came, and how it ended if it did.
fn fill(decoder: &mut impl Decode, buffer: &mut [u8]) -> (usize, Option<io::Result<()>>) {
    let mut len = 0;
    while len < buffer.len() {
        match decoder.decode(&mut buffer[len..]) {
            Ok(0) => return (len, Some(Ok(()))),
            Ok(read) => len += read,
            Err(error) => return (len, Some(Err(error))),
        }
    }
    (len, None)
}

/// Writes compressed, or not.
///
/// An output that is not [finished](Encoder::finish) is not whole.
pub struct Encoder<W: Write>(To<W>);

enum To<W: Write> {
    Plain(W),
    #[cfg(feature = "gzip")]
    Gzip(flate2::write::GzEncoder<W>),
    Zstd(zstd::stream::write::Encoder<'static, W>),
}

impl<W: Write> Encoder<W> {
    /// Writes to `out`.
    ///
    /// # Errors
    ///
    /// When the compression is not in this build (gzip is behind the feature `gzip`), or can not be set up.
    pub fn new(out: W, compression: Compression) -> io::Result<Encoder<W>> {
        Ok(Encoder(match compression {
            Compression::None => To::Plain(out),
            #[cfg(feature = "gzip")]
            Compression::Gzip => To::Gzip(flate2::write::GzEncoder::new(out, flate2::Compression::default())),
            #[cfg(not(feature = "gzip"))]
            Compression::Gzip => {
                return Err(io::Error::new(io::ErrorKind::Unsupported, "this build writes no gzip (feature gzip): name the output .zst"));
            }
            Compression::Zstd => {
                let mut encoder = zstd::stream::write::Encoder::new(out, zstd::DEFAULT_COMPRESSION_LEVEL)?;
                encoder.include_checksum(true)?;
                To::Zstd(encoder)
            }
        }))
    }

    /// Writes what is still held back and the end of the compressed file; gives the output back.
    ///
    /// # Errors
    ///
    /// When the output can not be written.
    pub fn finish(self) -> io::Result<W> {
        let mut out = match self.0 {
            To::Plain(out) => out,
            #[cfg(feature = "gzip")]
            To::Gzip(encoder) => encoder.finish()?,
            To::Zstd(encoder) => encoder.finish()?,
        };
        out.flush()?;
        Ok(out)
    }
}

impl<W: Write> Write for Encoder<W> {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            To::Plain(out) => out.write(octets),
            #[cfg(feature = "gzip")]
            To::Gzip(encoder) => encoder.write(octets),
            To::Zstd(encoder) => encoder.write(octets),
        }
    }

    /// Hands everything written so far on as far as that costs no compression: it is all there when the output is finished.
    fn flush(&mut self) -> io::Result<()> {
        match &mut self.0 {
            To::Plain(out) => out.flush(),
            #[cfg(feature = "gzip")]
            To::Gzip(encoder) => encoder.get_mut().flush(),
            To::Zstd(encoder) => encoder.get_mut().flush(),
        }
    }
}
