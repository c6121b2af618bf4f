// Sends one request and prints the status of the last answer.
// Arguments: method, URL, content type. The body comes from standard input.
const [method, url, contentType] = process.argv.slice(2);
const chunks = [];
for await (const chunk of process.stdin) chunks.push(chunk);
const request = { method };
if (chunks.length > 0) {
  // A Blob, because some releases' fetch cannot send a Buffer twice: it fails
  // with "detached ArrayBuffer" (github.com/microsoft/vscode/pull/252572).
  request.body = new Blob(chunks);
  request.headers = { "Content-Type": contentType };
}
console.log((await fetch(url, request)).status);
