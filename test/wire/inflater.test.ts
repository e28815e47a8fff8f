import zlib, { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import t from 'tap'
import { inflater, type Inflater } from '../../lib/wire/inflater.ts'

const text = '{"a":"ä"}'

/** Returns the decoder of a known encoding. */
function known (encoding: string): Inflater {
  const inflate = inflater(encoding)
  if (inflate === undefined || inflate === 'identity') throw new Error(`no stream for ${encoding}`)
  return inflate
}

t.test('each encoding is decoded, however it is spelled', async t => {
  const encoded = {
    gzip: gzipSync(text),
    ' X-GZIP ': gzipSync(text),
    Deflate: deflateSync(text),
    br: brotliCompressSync(text)
  }
  for (const [encoding, bytes] of Object.entries(encoded)) {
    const inflate = known(encoding)
    inflate.end(bytes)
    t.equal(Buffer.concat(await inflate.toArray()).toString(), text, encoding)
    t.equal(inflate.bytesWritten, bytes.length)
  }
})

t.test('zstd is decoded if Node.js supports it', async t => {
  // A frame of one raw block: RFC 8878, section 3.1.
  const frame = Buffer.concat([
    Buffer.from([
      0x28,
      0xb5,
      0x2f,
      0xfd,
      0x20,
      Buffer.byteLength(text),
      (Buffer.byteLength(text) << 3) | 1,
      0,
      0
    ]),
    Buffer.from(text)
  ])
  const inflate = inflater('zstd')
  const isKnown = 'createZstdDecompress' in zlib
  t.equal(inflate !== undefined, isKnown)
  if (inflate === undefined || inflate === 'identity') return
  inflate.end(frame)
  t.equal(Buffer.concat(await inflate.toArray()).toString(), text)
})

t.test('without an encoding there is nothing to decode, and an unknown one gives no stream', async t => {
  for (const encoding of [undefined, '', 'identity', ' Identity ']) t.equal(inflater(encoding), 'identity')
  t.equal(inflater('lzma'), undefined)
  t.equal(inflater('gzip, br'), undefined)
})

t.test('arrived data is passed on before the end', async t => {
  const inflate = known('gzip')
  t.teardown(() => inflate.destroy())
  const bytes = gzipSync(text)
  inflate.write(bytes.subarray(0, bytes.length - 8)) // all but the checksum
  for await (const piece of inflate) {
    t.equal(String(piece), text)
    break
  }
})
