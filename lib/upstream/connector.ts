import { connect, isIP, type OnReadOpts, type Socket } from 'node:net'
import { connect as connectSecurely, TLSSocket, type ConnectionOptions } from 'node:tls'

/** Bytes of one read; of a large body, each is a turn of the event loop. */
const readBytes = 64 * 1024
const keepAliveProbeMs = 60_000

/**
 * Every socket reads into these bytes, and its callback has used them when it returns: a socket that waits holds no
 * buffer, and none is allocated for a read.
 */
const received = Buffer.allocUnsafeSlow(readBytes)

/** Opens a socket; `onBytes` is called with each read, and must copy what it keeps. */
export type Connect = (onBytes: (bytes: Buffer) => void) => Socket

/** Makes sockets to one server, over TLS for `https:`; its sessions are used again. @param timeoutMs until it can be written to */
export function connector (server: URL, timeoutMs: number): Connect {
  const isSecure = server.protocol === 'https:'
  const host = server.hostname.replace(/^\[|\]$/g, '')
  const port = Number(server.port) || (isSecure ? 443 : 80)
  let session: Buffer | undefined
  return onBytes => {
    const onread = readInto(onBytes)
    // Documented for `tls.connect`, and missing from its types.
    const secure: ConnectionOptions & { readonly onread: OnReadOpts } = { host, port, onread, ALPNProtocols: ['http/1.1'], servername: isIP(host) === 0 ? host : '' }
    const socket = isSecure
      ? connectSecurely(session === undefined ? secure : { ...secure, session }).on('session', latest => { session = latest })
      : connect({ host, port, onread })
    limitConnecting(socket, timeoutMs)
    return socket.setNoDelay(true).setKeepAlive(true, keepAliveProbeMs)
  }
}

/** Has nothing in its scope but what a connection needs for as long as it is open. */
function readInto (onBytes: (bytes: Buffer) => void): OnReadOpts {
  return {
    buffer: received,
    callback: sizeBytes => {
      onBytes(received.subarray(0, sizeBytes))
      return true
    }
  }
}

function limitConnecting (socket: Socket, timeoutMs: number): void {
  const timer = setTimeout(() => { socket.destroy(connectTimeout(timeoutMs)) }, timeoutMs)
  const connected = connectedEvent(socket)
  const stop = (): void => {
    clearTimeout(timer)
    socket.off(connected, stop).off('close', stop) // a connection may be open for hours
  }
  socket.on(connected, stop).on('close', stop)
}

/** Returns the event from which on a server gets what is written to a socket. */
export function connectedEvent (socket: Socket): 'connect' | 'secureConnect' {
  return socket instanceof TLSSocket ? 'secureConnect' : 'connect'
}

function connectTimeout (ms: number): Error {
  return Object.assign(new Error(`no connection within ${ms} ms`), { code: 'ETIMEDOUT' })
}
