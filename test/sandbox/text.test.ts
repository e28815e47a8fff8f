import t from 'tap'
import { countTokens } from '../../lib/sandbox/tokens.ts'
import { user, complete, message } from '../support/sandbox.ts'

t.test('a text has as many words as requested', async t => {
  const words = async (body: object): Promise<number> => (await message(body)).content?.split(' ').length ?? 0
  t.equal(await words({ model: 'story', messages: user('Write me a story of 300 words') }), 300)
  t.equal(await words({ model: 'story', messages: user('A story, please') }), 120)
  t.equal(await words({ messages: user('Hi [sandbox: words=57]') }), 57)
  t.equal(await words({ messages: user('Hi [sandbox: words=2]') }), 2)
  const seeded = async (seed: number) =>
    (await message({ model: 'story', messages: user('A story'), seed })).content
  t.not(await seeded(1), await seeded(2))
})

t.test('limits, stop sequences and usage are consistent', async t => {
  const cut = await complete({ messages: user('Hi'), max_completion_tokens: 4, max_tokens: 9 })
  t.equal(cut.choices[0]?.finish_reason, 'length')
  t.equal(cut.choices[0]?.message.content, "This is Headgate's sandbox,")
  t.equal(cut.usage?.completion_tokens, 4)
  t.equal((await complete({ messages: user('Hi'), max_tokens: 5 })).usage?.completion_tokens, 5)
  const stopped = await complete({ messages: user('Hi'), stop: ['nowhere', ' model', 'sandbox'] })
  t.equal(stopped.choices[0]?.finish_reason, 'stop')
  t.equal(stopped.choices[0]?.message.content, "This is Headgate's ")
  t.equal((await message({ messages: user('Hi'), stop: ',' })).content, "This is Headgate's sandbox")

  const {
    choices: [choice],
    usage
  } = await complete({ model: 'thinker', messages: user('Hi') })
  t.equal(
    usage?.completion_tokens_details.reasoning_tokens,
    countTokens(choice?.message.reasoning_content ?? '')
  )
  t.equal(
    usage?.completion_tokens,
    countTokens(choice?.message.reasoning_content ?? '') + countTokens(choice?.message.content ?? '')
  )
  t.equal(usage?.total_tokens, (usage?.prompt_tokens ?? 0) + (usage?.completion_tokens ?? 0))
  const most = await complete({ model: 'story', messages: user('[sandbox: words=10000]'), n: 128 })
  t.ok(
    (most.usage?.completion_tokens ?? Infinity) <= 32_768,
    'an answer has a bound, however many choices it has'
  )
})
