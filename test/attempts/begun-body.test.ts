import t from 'tap'
import { beginBody, looksLikeText } from '../../lib/attempts/begun-body.ts'
import type { UpstreamBody } from '../../lib/providers/provider.ts'

/** A body in pieces of this size, each of which arrives later. */
function bodyOf (bytes: Buffer, pieceBytes: number, cancel = (): void => undefined): UpstreamBody {
  return {
    async * [Symbol.asyncIterator] () {
      for (let at = 0; at < bytes.length; at += pieceBytes) {
        await new Promise(setImmediate)
        yield bytes.subarray(at, at + pieceBytes)
      }
    },
    buffer: () => { throw new Error('the body has begun') },
    cancel
  }
}

t.test('the bytes of a begun body are those of the body, at any cut', async t => {
  for (const text of ['', 'a', 'data: {}\n\n', 'é'.repeat(300)]) {
    for (const pieceBytes of [1, 5, 6, 7, 1000]) {
      const bytes = Buffer.from(text)
      const begun = await beginBody(bodyOf(bytes, pieceBytes))
      t.ok(begun.start.length >= Math.min(6, bytes.length), `${text.slice(0, 9)} in pieces of ${pieceBytes}`)
      const pieces: Uint8Array[] = []
      for await (const piece of begun.body) pieces.push(piece)
      t.same(Buffer.concat(pieces), bytes)
      let heldBytes = 0
      const again = await beginBody(bodyOf(bytes, pieceBytes))
      t.same(await again.body.buffer(1000, more => { heldBytes += more }), bytes)
      t.equal(heldBytes, bytes.length)
    }
  }
  const long = await beginBody(bodyOf(Buffer.alloc(20), 7))
  await t.rejects(async () => await long.body.buffer(19), { code: 'upstream_invalid_response' })
})

t.test('a begun body is cancelled as the body, and fails as it does', async t => {
  let isCancelled = false
  const { body } = await beginBody(bodyOf(Buffer.alloc(20), 7, () => { isCancelled = true }))
  body.cancel()
  t.ok(isCancelled)
  const broken: UpstreamBody = {
    ...bodyOf(Buffer.alloc(0), 1),
    async * [Symbol.asyncIterator] () {
      yield Buffer.alloc(6)
      throw new Error('broke')
    }
  }
  const begun = await beginBody(broken)
  await t.rejects(async () => { for await (const _ of begun.body); }, { message: 'broke' })
})

t.test('text is recognised by its beginning, and sound is not text', t => {
  for (const text of [
    'data: {}', 'event: a\ndata: {}', ' \n id: 1', 'retry:5', ': comment', '\ufeffdata:', '{"error":"鳥"}',
    '[{', '<html>'
  ]) {
    t.ok(looksLikeText(Buffer.from(text)), text)
  }
  const sounds = [
    'ID3\x04\0', 'RIFF\x24\0\0\0WAVEfmt ', 'OggS\0', 'fLaC\0', 'sound', '', ':\0\x01\0', '{\0', '<\x05\xff',
    'database'
  ]
  for (const sound of sounds) t.notOk(looksLikeText(Buffer.from(sound, 'latin1')), JSON.stringify(sound))
  t.end()
})
