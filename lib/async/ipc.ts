/**
 * Sends messages between a primary process and its workers, over the IPC channel of every child process.
 */

/**
 * The part of a process that both ends need: `process` itself, or a worker. Other messages use the same
 * channel.
 */
export interface IpcChannel<Message> {
  readonly send?: ((message: Message, done: () => void) => unknown) | undefined
  readonly on: (event: 'message' | 'disconnect', listener: (message?: unknown) => void) => unknown
  readonly connected?: boolean
}

/**
 * A worker as seen by its primary process. It always emits `exit`. `disconnect` may come before that or
 * never: Node.js loses it for workers that are killed while it hands something over to them.
 */
export interface WorkerChannel<Message> extends Pick<IpcChannel<Message>, 'send' | 'connected'> {
  readonly on: (event: 'message' | 'exit', listener: (message?: unknown) => void) => unknown
}

/**
 * Sends a message. That the other process may have ended is reported by its own event; without a callback, it
 * would also be an uncaught error.
 */
export function sendMessage<Message> (
  other: Pick<IpcChannel<Message>, 'send' | 'connected'>,
  message: Message
): void {
  if (other.connected !== false) other.send?.(message, () => {})
}

/** Codes of errors which mean that the other end has closed. */
const closedCodes: ReadonlySet<unknown> = new Set([
  'EPIPE',
  'ECONNRESET',
  'ERR_IPC_CHANNEL_CLOSED',
  'ERR_IPC_DISCONNECTED'
])

/**
 * Prevents an unsendable message of Node.js itself from ending this process, such as the reply to a worker
 * that asked to listen and has since exited. `exit` reports the end of the other process.
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
