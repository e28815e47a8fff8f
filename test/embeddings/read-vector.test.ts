import fc from 'fast-check'
import t from 'tap'
import { base64Of, printVector, readVector } from '../../lib/embeddings/read-vector.ts'
import { holds } from '../support/property.ts'

const json = (text: string): Buffer => Buffer.from(text)
const read = (text: string, wanted: 'float' | 'base64' = 'float') => readVector(json(text), wanted)

t.test('a vector in the requested format is returned unchanged, digit by digit', async t => {
  const floats = '[0.10000000000000001, 1e-3,-2]'
  t.equal(String(printVector(read(floats), 'float')), floats)
  const base64 = `"${base64Of([0.5, -1])}"`
  t.equal(String(printVector(read(base64, 'base64'), 'base64')), base64)
})

t.test('numbers survive both conversions, and are printed with the digits a 32-bit float needs', async t => {
  holds(
    t,
    fc.property(fc.array(fc.float({ noNaN: true, noDefaultInfinity: true }), { minLength: 1 }), numbers => {
      const base64 = printVector(readVector(json(JSON.stringify(numbers)), 'base64'), 'base64')
      const back = String(printVector(readVector(json(String(base64)), 'float'), 'float'))
      const same = (JSON.parse(back) as number[]).every(
        (number, index) => Math.fround(number) === Math.fround(numbers[index] ?? NaN)
      )
      return same && (JSON.parse(back) as number[]).length === numbers.length
    })
  )
  t.equal(printVector(read(`"${base64Of([0.1, 1 / 3])}"`), 'float'), '[0.1,0.33333334]')
})

t.test('escaped slashes are unescaped', async t => {
  const bytes = Buffer.alloc(8, 0x3f)
  const text = `"${bytes.toString('base64')}"`
  t.match(text, '/')
  t.equal(String(printVector(read(text.replaceAll('/', '\\/'), 'base64'), 'base64')), text)
})

t.test('an invalid vector is an error of the provider', async t => {
  const broken = { code: 'upstream_invalid_response' }
  for (const text of [
    '[]',
    '[ ]',
    '[1,null]',
    '[1,"2"]',
    '[[1]]',
    '[{}]',
    '[NaN]',
    '{}',
    '1',
    'null',
    '""',
    '"AAA="',
    '"AAAAAAA="',
    ''
  ]) {
    for (const wanted of ['float', 'base64'] as const) {
      t.throws(() => read(text, wanted), broken, `${text} as ${wanted}`)
    }
  }
})

t.test('numbers that JSON cannot represent are detected when they would be printed', async t => {
  const infinite = `"${base64Of([1, Infinity])}"`
  const nan = `"${base64Of([NaN])}"`
  for (const text of [infinite, nan]) {
    t.throws(() => read(text, 'float'), { code: 'upstream_invalid_response' })
    t.equal(String(printVector(read(text, 'base64'), 'base64')), text)
  }
  t.throws(
    () => printVector(read('[1e39]', 'base64'), 'base64'),
    { code: 'upstream_invalid_response' },
    'too large for a float'
  )
  t.throws(() => printVector(read('[1,,2]', 'base64'), 'base64'), { code: 'upstream_invalid_response' })
})
