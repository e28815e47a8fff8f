/**
 * Requests forbid providers to compress; some proxies in front of them do so anyway.
 */

import { Readable, pipeline } from 'node:stream'
import { bufferBytes } from './body-queue.ts'
import { GatewayError } from '../core/errors.ts'
import { inflater, type Inflater } from '../wire/inflater.ts'
import type { UpstreamBody } from '../providers/provider.ts'

/**
 * Returns the body without its content encoding. An event stream stays one: what has arrived is given
 * out as it arrives.
 *
 * @throws GatewayError while reading: `upstream_invalid_response` for an unknown encoding or
 *   bytes that are not what the header says, `upstream_stream_interrupted` for a cut one.
 */
export function decompressed (body: UpstreamBody, encoding: string | string[] | undefined): UpstreamBody {
  if (encoding === undefined) return body
  const inflate = inflater(String(encoding))
  if (inflate === 'identity') return body
  if (inflate === undefined) {
    return unreadable(body, new GatewayError('upstream_invalid_response', { cause: `content-encoding ${String(encoding)}` }))
  }
  // The callback owns every error of the chain; the reader below sees it as the stream's own.
  pipeline(Readable.from(body, { objectMode: false }), inflate, () => { /* see the reader */ })
  inflate.on('error', () => { /* see the reader, who may come after the pipeline has ended: zlib finishes before it finds that bytes are missing */ })
  return {
    [Symbol.asyncIterator]: () => reading(inflate),
    buffer: async maxBytes => await bufferBytes(reading(inflate), maxBytes),
    cancel: () => {
      inflate.destroy()
      body.cancel()
    }
  }
}

async function * reading (inflate: Inflater): AsyncGenerator<Uint8Array, undefined, undefined> {
  try {
    for await (const bytes of inflate) yield bytes as Uint8Array // a byte stream yields buffers
  } catch (error) {
    if (error instanceof GatewayError) throw error
    const code = (error as NodeJS.ErrnoException).code // an error of zlib or of the stream
    throw new GatewayError(
      code === 'Z_BUF_ERROR' ? 'upstream_stream_interrupted' : 'upstream_invalid_response',
      { cause: error }
    )
  }
}

/** Closes the connection when it is read from. */
function unreadable (body: UpstreamBody, error: GatewayError): UpstreamBody {
  const refuse = async (): Promise<never> => {
    body.cancel()
    return await Promise.reject(error)
  }
  return { [Symbol.asyncIterator]: () => ({ next: refuse }), buffer: refuse, cancel: () => body.cancel() }
}
