/** Sends messages between a primary process and its workers: over the IPC channel that every child process has. */

/**
 * The part of a process that the two ends need: `process` itself, or a worker. Messages of others travel
 * here too.
 */
export interface IpcChannel<Message> {
  readonly send?: ((message: Message, done: () => void) => unknown) | undefined
  readonly on: (event: 'message' | 'disconnect', listener: (message?: unknown) => void) => unknown
  readonly connected?: boolean
}

/** Sends a message. One that cannot be sent is reported as `disconnect`; without a callback it would be an uncaught error. */
export function sendMessage<Message> (other: IpcChannel<Message>, message: Message): void {
  if (other.connected !== false) other.send?.(message, () => {})
}
