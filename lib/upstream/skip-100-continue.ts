/**
 * Lets `100 Continue` of a server pass unseen.
 *
 * A client that does not send `Expect` discards such an interim response (RFC 9110, 15.2.1). undici
 * destroys the socket instead, and the call would be a failure of the provider. Other responses of 1xx
 * it hands to its handlers.
 */

import type { Socket } from 'node:net'

/**
 * Removes interim responses from what is read, each where it is the beginning of a read after a write:
 * bytes of a body are never looked at. Costs one comparison a read.
 */
export function skip100Continue (socket: Socket): void {
  const read = socket.read.bind(socket)
  const write = socket.write.bind(socket)
  let awaitsResponse = false
  // undici calls both on the socket itself, so that properties of its own are enough.
  Object.assign(socket, {
    write: (...args: unknown[]): unknown => {
      awaitsResponse = true
      return Reflect.apply(write, undefined, args)
    },
    read: (size?: number): unknown => {
      const bytes: unknown = read(size)
      if (!awaitsResponse || !Buffer.isBuffer(bytes)) return bytes
      if (bytes[statusPlace] === 0x32) { // 2xx
        awaitsResponse = false
        return bytes
      }
      const rest = withoutContinue(bytes)
      if (rest.length === 0) return socket.read()
      awaitsResponse = false
      return rest
    }
  })
}

/** The place of the status in `HTTP/1.1 200`. */
const statusPlace = 'HTTP/1.1 '.length

function withoutContinue (bytes: Buffer): Buffer {
  let rest = bytes
  while (/^HTTP\/1\.[01] 100[ \r]/.test(rest.toString('latin1', 0, 13))) {
    const end = rest.indexOf('\r\n\r\n')
    if (end === -1) break
    rest = rest.subarray(end + 4)
  }
  return rest
}
