/** Writes PNG files with zlib alone: the sandbox needs no image library. */

import { promisify } from 'node:util'
import { crc32, deflate } from 'node:zlib'

/** Pixels row by row, four bytes each: red, green, blue, opacity. */
export interface Raster {
  readonly width: number
  readonly height: number
  readonly pixels: Buffer
}

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])

const compress = promisify(deflate)

/** @see https://www.w3.org/TR/png-3/ */
export async function encodePng ({ width, height, pixels }: Raster): Promise<Buffer> {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.writeUInt8(8, 8) // bits per channel
  header.writeUInt8(6, 9) // colour with opacity
  const rowBytes = width * 4
  const rows = Buffer.alloc(height * (rowBytes + 1))
  for (let y = 0; y < height; y++) {
    // Each row begins with its filter; 0 is none.
    pixels.copy(rows, y * (rowBytes + 1) + 1, y * rowBytes, (y + 1) * rowBytes)
  }
  return Buffer.concat([
    signature,
    chunk('IHDR', header),
    chunk('IDAT', await compress(rows)),
    chunk('IEND', Buffer.alloc(0))
  ])
}

function chunk (name: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(name, 'latin1'), data])
  const framed = Buffer.alloc(body.length + 8)
  framed.writeUInt32BE(data.length, 0)
  body.copy(framed, 4)
  framed.writeUInt32BE(crc32(body), body.length + 4)
  return framed
}
