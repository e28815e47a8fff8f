import zlib, { constants, createBrotliDecompress, createGunzip, createInflate, type Zlib } from 'node:zlib'
import { property } from '../json/type-guards.ts'
import type { Transform } from 'node:stream'

/** A stream that decompresses; `bytesWritten` counts compressed bytes. */
export type Inflater = Transform & Zlib

/**
 * Returns a stream that decodes an HTTP content encoding, `'identity'` if there is none, and `undefined` if
 * it is unknown. Output is flushed immediately, so event streams are not delayed.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9110#section-8.4.1
 */
export function inflater (encoding = ''): Inflater | 'identity' | undefined {
  const flush = { flush: constants.Z_SYNC_FLUSH }
  switch (encoding.trim().toLowerCase()) {
    case '':
    case 'identity': return 'identity'
    case 'gzip':
    case 'x-gzip': return createGunzip(flush)
    case 'deflate': return createInflate(flush)
    case 'br': return createBrotliDecompress({ flush: constants.BROTLI_OPERATION_FLUSH })
    case 'zstd': return zstdInflater()
    default: return undefined
  }
}

/** Returns `undefined` before Node.js 22.15, whose types the project does not use. */
function zstdInflater (): Inflater | undefined {
  const create: unknown = property(zlib, 'createZstdDecompress')
  return typeof create === 'function'
    ? (create({ flush: property(constants, 'ZSTD_e_flush') }) as Inflater)
    : undefined
}
