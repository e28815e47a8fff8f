import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { encode } from 'gpt-tokenizer/encoding/cl100k_base'
import t from 'tap'
import { countTokens, findExcess } from '../../lib/embeddings/count-tokens.ts'
import { createTokenCounter } from '../../lib/embeddings/token-counter.ts'
import { maxTokenBytes, measureInputs } from '../../lib/embeddings/measure-inputs.ts'
import type { EmbeddingInput } from '../../schemas/embeddings.ts'

const limits = { perInput: 8192, perRequest: 300_000 }
const { signal } = new AbortController()

/** Random letters from a fixed seed. */
function letters (count: number, alphabet: string): string {
  let state = 7
  return Array.from({ length: count }, () => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0
    return alphabet[(state >>> 16) % alphabet.length] ?? ''
  }).join('')
}

function exactly (text: string): number {
  return encode(text, { disallowedSpecial: new Set() }).length
}

const lower = 'abcdefghijklmnopqrstuvwxyz'
const base64 = `${lower}${lower.toUpperCase()}0123456789+/`
const sentence = 'The quick brown fox jumps over the lazy dog, 1,234 times; it\'s said "déjà vu" — 漢字.\n'

t.test('texts without long runs are counted exactly', async t => {
  const texts = {
    sentences: sentence.repeat(40),
    digits: '7'.repeat(3000),
    base64: letters(4000, base64),
    marks: 'a\u0301\u0302'.repeat(1000),
    halves: '\ud800x'.repeat(500),
    'special tokens': '<|endoftext|> and <|fim_prefix|>'.repeat(50),
    code: 'if (a  ===  b) {\n\t\treturn  x\r\n}\n\n'.repeat(50),
    nothing: ''
  }
  for (const [name, text] of Object.entries(texts)) {
    t.same(countTokens(text), { tokens: exactly(text), doubt: 0 }, name)
  }
})

t.test('in texts with long runs the count is within its stated error', async t => {
  for (const run of ['a', ' ', '\n', '!', '😀', '👩‍👩‍👧', '漢字', 'שלום', 'é']) {
    const text = run.repeat(Math.ceil(2000 / run.length))
    const { tokens, doubt } = countTokens(text)
    t.ok(Math.abs(tokens - exactly(text)) <= doubt, JSON.stringify(run))
  }
  const random = letters(4000, lower)
  const { tokens, doubt } = countTokens(random)
  t.ok(Math.abs(tokens - exactly(random)) <= doubt, 'random letters')
})

t.test('counting stops at the limit, also in the middle of a run', async t => {
  for (const text of [
    'a'.repeat(1e6),
    '😀'.repeat(25e4),
    letters(1e6, lower),
    ' \n'.repeat(5e5),
    'word '.repeat(2e5)
  ]) {
    const { tokens, doubt } = countTokens(text, 8192)
    t.ok(tokens - doubt > 8192)
    t.ok(tokens < 20_000, `${text.slice(0, 8)}: ${tokens}`)
  }
})

t.test('the sum over all texts has its own limit', async t => {
  const texts = Array.from({ length: 4 }, (_, index) => ({ index, text: 'word '.repeat(99) }))
  t.equal(findExcess(texts, { perInput: 100, perRequest: 400 }), undefined)
  t.same(findExcess(texts, { perInput: 100, perRequest: 399 }), { part: 'request' })
  t.same(findExcess(texts, { perInput: 99, perRequest: 399 }), { part: 'input', index: 0 })
})

t.test('most inputs are decided without the tokenizer', async t => {
  const verdict = (input: EmbeddingInput): string => {
    const measured = measureInputs(input, limits)
    return measured.verdict === 'unknown'
      ? `count ${measured.toCount.map(({ index }) => index).join()}`
      : measured.verdict
  }
  t.equal(verdict('a'.repeat(8192)), 'within', 'a token is at least a byte')
  t.equal(verdict('é'.repeat(4096)), 'within')
  t.equal(verdict('é'.repeat(4097)), 'count 0', 'bytes, not characters')
  t.equal(verdict('a'.repeat(8193)), 'count 0')
  t.equal(verdict('a'.repeat(8192 * maxTokenBytes)), 'count 0')
  t.equal(verdict('a'.repeat(8192 * maxTokenBytes + 1)), 'beyond', 'and at most 128 bytes')
  t.equal(verdict(['a', 'a'.repeat(9000), 'a']), 'count 1', 'only what may be too long')
  t.equal(
    verdict(Array.from({ length: 37 }, () => 'a'.repeat(8192))),
    `count ${[...Array(37).keys()].join()}`,
    'the sum may be too large'
  )
  t.equal(verdict(Array.from({ length: 300 }, () => 'a'.repeat(1000))), 'within')
  t.equal(
    verdict(Array.from({ length: 40 }, () => ' '.repeat(1_000_000))),
    'beyond',
    'the sum is too large whatever the text'
  )
})

t.test('the limit for token arrays is their length', async t => {
  const tokens = (length: number): number[] => Array.from({ length }, () => 1)
  t.equal(measureInputs(tokens(2048), limits).verdict, 'within')
  t.same(measureInputs([tokens(8192), tokens(8193)], limits), {
    verdict: 'beyond',
    excess: { part: 'input', index: 1 }
  })
  t.equal(
    measureInputs(
      Array.from({ length: 36 }, () => tokens(8192)),
      limits
    ).verdict,
    'within'
  )
  t.same(
    measureInputs(
      Array.from({ length: 37 }, () => tokens(8192)),
      limits
    ),
    { verdict: 'beyond', excess: { part: 'request' } }
  )
})

t.test('no token is longer than the assumed maximum', async t => {
  const { default: ranks } = await import('gpt-tokenizer/bpeRanks/cl100k_base')
  t.equal(
    ranks.reduce(
      (longest: number, token) =>
        Math.max(longest, Buffer.byteLength(typeof token === 'string' ? token : Buffer.from(token))),
      0
    ),
    maxTokenBytes
  )
})

t.test('only the worker thread loads the tokenizer', async t => {
  const root = join(import.meta.dirname, '../../..')
  const files = readdirSync(join(root, 'lib'), { recursive: true, encoding: 'utf8' }).filter(name =>
    name.endsWith('.ts')
  )
  const importing = (wanted: string): string[] =>
    files.filter(file =>
      new RegExp(`^import (?!type)[^'"]*'[^']*${wanted}`, 'm').test(
        readFileSync(join(root, 'lib', file), 'utf8')
      )
    )
  t.same(importing('gpt-tokenizer'), ['embeddings/count-tokens.ts'])
  t.same(importing('/count-tokens.ts'), ['embeddings/token-worker.ts'])
  t.same(importing('/token-worker.ts'), [])
})

t.test('texts are counted in a worker thread that ends when idle', async t => {
  const counter = createTokenCounter({ idleMs: 1 })
  t.teardown(counter.close)
  const job = (text: string) => ({ texts: [{ index: 3, text }], limits })
  const verdicts = await Promise.all([
    counter.excess(job('a'.repeat(1e6)), 'key-1', signal),
    counter.excess(job(sentence.repeat(100)), 'key-1', signal),
    counter.excess(job(letters(1e6, base64)), 'key-1', signal)
  ])
  t.same(verdicts, [{ part: 'input', index: 3 }, undefined, { part: 'input', index: 3 }])
  t.same(
    await counter.excess(job('😀'.repeat(1e5)), 'key-1', signal),
    { part: 'input', index: 3 },
    'after the first thread has ended'
  )
})

t.test('a text that takes too long has no verdict, and the next one gets a new thread', async t => {
  const hasty = createTokenCounter({ jobMs: 1 })
  t.teardown(hasty.close)
  const job = { texts: [{ index: 0, text: 'word '.repeat(20_000) }], limits }
  t.equal(await hasty.excess(job, 'key-1', signal), undefined)
  t.equal(await hasty.excess(job, 'key-1', signal), undefined)
})

t.test('no call is left waiting after a full queue, an abort or a close', async t => {
  const counter = createTokenCounter({ queueLength: 1 })
  const job = { texts: [{ index: 0, text: 'word '.repeat(20_000) }], limits }
  const leaving = new AbortController()
  const first = counter.excess(job, 'key-1', leaving.signal)
  const second = counter.excess(job, 'key-1', leaving.signal)
  t.equal(await counter.excess(job, 'key-1', signal), undefined, 'no room')
  leaving.abort(new Error('gone'))
  await t.rejects(first, { message: 'gone' })
  await t.rejects(second, { message: 'gone' })
  await t.rejects(counter.excess(job, 'key-1', leaving.signal), { message: 'gone' })
  const last = counter.excess(job, 'key-1', signal)
  await counter.close()
  t.equal(await last, undefined)
})
