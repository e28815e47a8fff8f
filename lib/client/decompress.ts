/**
 * Requests forbid providers to compress; some proxies in front of them do so anyway.
 */

import { Readable, pipeline } from 'node:stream'
import { bufferBytes } from './body-queue.ts'
import { GatewayError } from '../core/errors.ts'
import { inflater, type Inflater } from '../wire/inflater.ts'
import type { UpstreamBody } from '../providers/provider.ts'

/** Answers of models are compressed 20:1 at most; a larger one of zeros is made to fill memory and time. */
const maxCompression = 200
const compressionCheckFromBytes = 1024 * 1024

/**
 * Returns the body without its content encoding. An event stream stays one: what has arrived is given
 * out as it arrives.
 *
 * @throws GatewayError while reading: `upstream_invalid_response` for an unknown encoding,
 * bytes that are not what the header says or a megabyte and more that is compressed over 200:1;
 * `upstream_stream_interrupted` for a cut one.
 */
export function decompressed (body: UpstreamBody, encoding: string | string[] | undefined): UpstreamBody {
  if (encoding === undefined) return body
  const inflate = inflater(String(encoding))
  if (inflate === 'identity') return body
  if (inflate === undefined) {
    return unreadable(
      body,
      new GatewayError('upstream_invalid_response', { cause: `content-encoding ${String(encoding)}` })
    )
  }
  // The callback owns every error of the chain; the reader below sees it as the stream's own.
  pipeline(Readable.from(body, { objectMode: false }), inflate, () => {
    /* see the reader */
  })
  inflate.on('error', () => {
    /* see the reader, who may come after the pipeline has ended: zlib finishes before it finds that bytes are missing */
  })
  return {
    [Symbol.asyncIterator]: () => reading(inflate),
    buffer: async (maxBytes, hold) => await bufferBytes(reading(inflate), maxBytes, hold),
    cancel: () => {
      inflate.destroy()
      body.cancel()
    }
  }
}

async function * reading (inflate: Inflater): AsyncGenerator<Uint8Array, undefined, undefined> {
  try {
    let sizeBytes = 0
    for await (const bytes of inflate as AsyncIterable<Uint8Array>) { // a byte stream yields buffers
      sizeBytes += bytes.length
      if (sizeBytes > compressionCheckFromBytes && sizeBytes > maxCompression * inflate.bytesWritten) {
        throw new GatewayError('upstream_invalid_response', {
          cause: `the body is compressed more than ${maxCompression}:1`
        })
      }
      yield bytes
    }
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
