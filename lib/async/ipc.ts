/**
 * Sends messages between a primary process and its workers: over the IPC channel that every child process
 * has.
 */

/**
 * The part of a process that the two ends need: `process` itself, or a worker. Messages of others travel
 * here too.
 */
export interface IpcChannel<Message> {
  readonly send?: ((message: Message, done: () => void) => unknown) | undefined
  readonly on: (event: 'message' | 'disconnect', listener: (message?: unknown) => void) => unknown
  readonly connected?: boolean
}

/**
 * A worker as its primary sees it. It always emits `exit`. `disconnect` may come before or never: Node.js
 * loses it for workers that are killed while it hands something over to them.
 */
export interface WorkerChannel<Message> extends Pick<IpcChannel<Message>, 'send' | 'connected'> {
  readonly on: (event: 'message' | 'exit', listener: (message?: unknown) => void) => unknown
}

/**
 * Sends a message. The end of the other process is an event of its own; without a callback it would be an
 * uncaught error.
 */
export function sendMessage<Message> (
  other: Pick<IpcChannel<Message>, 'send' | 'connected'>,
  message: Message
): void {
  if (other.connected !== false) other.send?.(message, () => {})
}

/** Codes of errors that say that the other end is gone. */
const closedCodes: ReadonlySet<unknown> = new Set([
  'EPIPE',
  'ECONNRESET',
  'ERR_IPC_CHANNEL_CLOSED',
  'ERR_IPC_DISCONNECTED'
])

/**
 * Keeps a message of Node.js itself that cannot be sent, such as its answer to a worker that wants to listen
 * and has exited meanwhile, from ending this process. The end of the other process is reported as `exit`.
 *
 * Throws other errors, such as a process that could not be started, into the event loop.
 */
export function ignoreClosedChannel (other: ErrorSource): void {
  other.on('error', error => {
    if (!('code' in error && closedCodes.has(error.code))) throw error
  })
}

interface ErrorSource {
  readonly on: (event: 'error', listener: (error: Error) => void) => unknown
}
