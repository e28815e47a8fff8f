import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import t from 'tap'
import { BoundedBody, type BoundedBodyOptions } from '../../lib/http/bounded-body.ts'

/** Sends bytes through a bounded body in pieces of the given size, and returns the output. */
async function passed (
  bytes: Buffer,
  pieceBytes = 16_384,
  options: Partial<BoundedBodyOptions> = {}
): Promise<Buffer> {
  const pieces = Array.from({ length: Math.ceil(bytes.length / pieceBytes) }, (_, index) =>
    bytes.subarray(index * pieceBytes, (index + 1) * pieceBytes)
  )
  const body = Object.assign(Readable.from(pieces), { headers: {} })
  const source = new BoundedBody(body, {
    maxBytes: 1_000_000,
    maxFramingBytes: 1_000_000,
    partBytes: () => 0,
    ...options
  })
  body.pipe(source)
  return await Promise.race([buffer(source), source.failed])
}

t.test('a body passes unchanged, however it is split', async t => {
  const bytes = Buffer.from(Array.from({ length: 400_000 }, (_, index) => index % 256))
  for (const pieceBytes of [400_000, 16_384, 1000]) t.ok(bytes.equals(await passed(bytes, pieceBytes)))
})

t.test('a body that is too large, or has too much data around its parts, is cut off', async t => {
  await t.rejects(passed(Buffer.alloc(1001), 500, { maxBytes: 1000 }), { code: 'file_too_large' })
  t.equal((await passed(Buffer.alloc(1000), 500, { maxBytes: 1000 })).length, 1000)
  await t.rejects(passed(Buffer.alloc(100_000), 5000, { maxFramingBytes: 2048 }), {
    code: 'invalid_value',
    message: /larger than 2 KB/
  })
  t.equal(
    (await passed(Buffer.alloc(100_000), 5000, { maxFramingBytes: 2048, partBytes: () => 100_000 })).length,
    100_000
  )
})

t.test('a form in very many tiny pieces is refused', async t => {
  await t.rejects(passed(Buffer.alloc(100_100), 1), { code: 'invalid_value', message: /chunks/ })
})

t.test('a body full of carriage returns is refused, a recording-like one is not', async t => {
  const every = (distance: number): Buffer =>
    Buffer.from(Array.from({ length: 300_000 }, (_, index) => (index % distance === 0 ? 0x0d : 0x61)))
  for (const pieceBytes of [65_536, 1000, 100]) {
    for (const distance of [1, 2, 10]) {
      await t.rejects(passed(every(distance), pieceBytes), {
        code: 'invalid_value',
        message: /carriage returns/
      })
    }
    t.equal((await passed(every(64), pieceBytes)).length, 300_000)
  }
})
