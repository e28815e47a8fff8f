/**
 * An address that refuses every connection. A recently closed port would not do: the next server that listens
 * on port 0, in this process or another, may get it. The system never assigns ports below 1024 that way, and
 * common services do not use this one. `fetch` connects to it, but blocks its neighbours 1 and 7.
 */

export const closedPort = 2
export const closedUrl = `http://127.0.0.1:${closedPort}`
