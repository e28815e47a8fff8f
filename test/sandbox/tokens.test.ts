import t from 'tap'
import fc from 'fast-check'
import { countTokens, tokensOf } from '../../lib/sandbox/tokens.ts'
import { user, complete } from '../support/sandbox.ts'

t.test('tokens join to their original text', t => {
  fc.assert(fc.property(fc.string({ unit: 'binary' }), text => {
    const tokens = tokensOf(text)
    return tokens.join('') === text && tokens.length === countTokens(text)
  }))
  t.equal(tokensOf(`a ${'b'.repeat(40)}`).length, 4)
  t.same(tokensOf('🌍'.repeat(17)), ['🌍'.repeat(16), '🌍'], 'no character is cut in two')
  t.end()
})

t.test('log probabilities have the bytes of their tokens, the most likely first', async t => {
  const {
    choices: [choice]
  } = await complete({ messages: user('Grüße 🌍'), logprobs: true, top_logprobs: 3 })
  const list = choice?.logprobs?.content ?? []
  t.equal(list.map(({ token }) => token).join(''), choice?.message.content)
  for (const { token, logprob, bytes, top_logprobs: top } of list) {
    t.equal(Buffer.from(bytes).toString(), token)
    t.equal(top.length, 3)
    t.match(top[0], { token, logprob })
    t.ok(logprob <= 0 && top.every((entry, i) => i === 0 || entry.logprob < (top[i - 1]?.logprob ?? 0)))
  }
  const none = await complete({ messages: user('Hi'), logprobs: true })
  t.same(none.choices[0]?.logprobs?.content?.[0]?.top_logprobs, [])
})
