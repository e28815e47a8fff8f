/**
 * The steps of the sandbox for one request, as data.
 *
 * Handlers are pure: they write a script, and the transport plays it with real pauses. Answers, failures and
 * slow answers are therefore made of the same steps, and only the transport has timers.
 */

export type Step =
  /** Bytes for the caller. `words` is the number of words of the answer in them; default none. */
  | { readonly type: 'send', readonly bytes: string | Uint8Array, readonly words?: number }
  /** Silence, in milliseconds. `Infinity` simulates a provider that hangs. */
  | { readonly type: 'pause', readonly ms: number }
  /** The connection is lost, as when a server is killed. */
  | { readonly type: 'lose' }

export interface Script {
  /** The steps before the head of the answer; holds no `send`. */
  readonly before: readonly Step[]
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** Generated while it is read, so an answer that is not read to its end costs little. */
  readonly body: Iterable<Step>
}

/** Returns a script that answers immediately with one JSON value. */
export function jsonScript (
  status: number,
  value: unknown,
  headers: Readonly<Record<string, string>> = {}
): Script {
  return jsonTextScript(status, JSON.stringify(value), headers)
}

/** Returns the same for a printed JSON value. */
export function jsonTextScript (
  status: number,
  json: string,
  headers: Readonly<Record<string, string>>
): Script {
  return {
    before: [],
    status,
    headers: { 'content-type': 'application/json', ...headers },
    body: [{ type: 'send', bytes: json }]
  }
}
