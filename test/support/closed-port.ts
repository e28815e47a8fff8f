/**
 * An address that refuses every connection. A port that was closed a moment ago need not: the next server
 * that listens on port 0, in this process or another, may get it. The system gives none below 1024 so, and
 * usual services do not have this one. `fetch` connects to it, and blocks its neighbours 1 and 7.
 */

export const closedPort = 2
export const closedUrl = `http://127.0.0.1:${closedPort}`
