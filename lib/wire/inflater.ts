import zlib, { constants, createBrotliDecompress, createGunzip, createInflate, type Zlib } from 'node:zlib'
import { property } from '../json/guards.ts'
import type { Transform } from 'node:stream'

/** A stream that takes compressed bytes and gives plain ones; `bytesWritten` counts the compressed ones. */
export type Inflater = Transform & Zlib

/**
 * Returns a stream that undoes a content encoding of HTTP, `'identity'` where there is nothing to undo,
 * and `undefined` for an encoding that is not known. What has arrived is given out at once, so that an
 * event stream stays one.
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

/** Returns `undefined` before Node.js 22.15, whose types the project does not have. */
function zstdInflater (): Inflater | undefined {
  const create: unknown = property(zlib, 'createZstdDecompress')
  return typeof create === 'function'
    ? (create({ flush: property(constants, 'ZSTD_e_flush') }) as Inflater)
    : undefined
}
