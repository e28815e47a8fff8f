import fc from 'fast-check'
import t from 'tap'
import { SmallPieces } from '../../lib/http/small-pieces.ts'
import { holds } from '../support/property.ts'

const sizes = fc.array(fc.oneof(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 9000 })), {
  maxLength: 60
})

t.test('the output equals the input however it is split, in few buffers that do not change', async t => {
  holds(
    t,
    fc.property(sizes, fc.boolean(), (lengths, isLengthKnown) => {
      const given: Buffer[] = []
      const texts: string[] = []
      const pieces = new SmallPieces(piece => {
        given.push(piece)
        texts.push(piece.toString('latin1'))
      })
      const all = Buffer.from(
        Array.from(
          { length: lengths.reduce((sum, length) => sum + length, 0) },
          (_, index) => (index * 7) % 251
        )
      )
      let at = 0
      for (const length of lengths) {
        pieces.push(Buffer.from(all.subarray(at, at + length)), isLengthKnown ? all.length - at : undefined)
        at += length
      }
      pieces.flush()
      pieces.flush()
      return (
        Buffer.concat(given).equals(all) &&
        given.every((piece, index) => piece.toString('latin1') === texts[index]) &&
        given.length <= 2 * (1 + lengths.filter(length => length >= 4096).length) + all.length / 2048
      )
    })
  )
})

t.test('no more memory is taken than the body needs', async t => {
  let taken = 0
  const pieces = new SmallPieces(piece => {
    taken = piece.buffer.byteLength
  })
  pieces.push(Buffer.from('ab'), 300)
  pieces.flush()
  t.equal(taken, 300)
})

t.test('a body of very many tiny pieces is refused, and one of larger pieces is not', t => {
  const pushed = (count: number, size: number): unknown => {
    const pieces = new SmallPieces(() => undefined)
    const piece = Buffer.alloc(size, 'a')
    try {
      for (let at = 0; at < count; at++) pieces.push(piece)
    } catch (error) {
      return error
    }
    return undefined
  }
  t.equal(pushed(100_000, 1), undefined)
  t.match(pushed(100_001, 1), { code: 'invalid_value', message: /chunks/ })
  t.equal(pushed(200_000, 8), undefined)
  t.end()
})
