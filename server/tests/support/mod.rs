//! The program as its users meet it: a process, its output, and sockets.
#![allow(dead_code)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;

/// Returns the program with arguments.
pub fn tollgate(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate"));
    command.args(args).stdin(Stdio::null());
    command
}

/// Runs the program to its end.
pub fn run(args: &[&str]) -> Output {
    tollgate(args).output().expect("the program starts")
}

/// Runs the program with a standard input.
pub fn run_with_input(args: &[&str], input: &[u8]) -> Output {
    let mut child = tollgate(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    child.stdin.take().expect("it has an input").write_all(input).expect("it reads its input");
    child.wait_with_output().expect("the program ends")
}

/// Asserts that the program refused with one line that contains `said`, and this exit code.
pub fn assert_refused(output: &Output, code: i32, said: &str) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    assert!(stderr.contains(said), "{stderr:?} does not say {said:?}");
    assert_eq!(stderr.trim_end().lines().count(), 1, "{stderr:?} is one line");
}

/// A running server, which is killed when the test is done with it.
pub struct Server {
    child: Child,
    pub address: String,
    pub greeting: String,
}

impl Server {
    /// Starts a server on a free port.
    pub fn start(args: &[&str]) -> Self {
        let mut command = tollgate(&["serve", "--listen", "127.0.0.1:0"]);
        let mut child = command.args(args).stdout(Stdio::piped()).spawn().expect("the program starts");
        let mut lines = BufReader::new(child.stdout.take().expect("it has an output")).lines();
        let mut line = || lines.next().expect("it greets").expect("it greets in UTF-8");
        let (first, second) = (line(), line());
        let start = first.find("127.0.0.1:").expect("the greeting says where it listens");
        let address: String =
            first[start..].chars().take_while(|c| c.is_ascii_digit() || matches!(c, '.' | ':')).collect();
        Self { child, address, greeting: format!("{first}\n{second}") }
    }

    /// Opens a connection.
    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).expect("the server listens");
        stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a socket takes a timeout");
        stream
    }

    /// Makes a request on a connection of its own.
    pub fn request(&self, method: &str, target: &str) -> Answer {
        let mut stream = self.connect();
        let request = format!("{method} {target} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("the server reads");
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).expect("the server answers and closes");
        Answer::read(&String::from_utf8(bytes).expect("the answer is UTF-8"))
    }

    /// Makes a GET request.
    pub fn get(&self, target: &str) -> Answer {
        self.request("GET", target)
    }

    /// Sends a signal and returns the exit code.
    pub fn stop(mut self, signal: &str) -> Option<i32> {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args([signal, &pid]).status().expect("there is a kill command");
        assert!(sent.success());
        self.child.wait().expect("the server ends").code()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A response.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    headers: Vec<(String, String)>,
    pub body: String,
}

impl Answer {
    /// Takes a response apart.
    fn read(text: &str) -> Self {
        let (head, body) = text.split_once("\r\n\r\n").expect("a head and a body");
        let mut lines = head.lines();
        let status = lines.next().and_then(|line| line.split(' ').nth(1)).and_then(|code| code.parse().ok());
        let headers = lines.filter_map(|line| line.split_once(": "));
        Self {
            status: status.expect("a status line"),
            headers: headers.map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned())).collect(),
            body: body.to_owned(),
        }
    }

    /// Returns a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(seen, _)| seen == name).map(|(_, value)| value.as_str())
    }

    /// Returns the body's JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{:?}: {error}", self.body))
    }
}

/// A folder that goes away with the test.
pub struct Folder(PathBuf);

impl Folder {
    /// Makes a folder named after the test.
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("tollgate-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder can be made");
        Self(path)
    }

    /// Writes a file and returns its path.
    pub fn write(&self, name: &str, bytes: &[u8]) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, bytes).expect("a file can be written");
        path.to_str().expect("the path is UTF-8").to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
