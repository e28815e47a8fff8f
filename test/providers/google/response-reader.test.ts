import t from 'tap'
import { googleChat } from '../../../lib/providers/google/index.ts'
import { readResponse, streamOf } from '../../support/adapters.ts'
import { googleAsk } from '../../support/google.ts'
import { readEvents } from '../../support/read-events.ts'
import { completion, sse } from '../../support/google-answers.ts'

t.test(
  'choices are numbered densely and in order, even with missing candidate indices',
  t => {
    const candidate = (text: string, index?: number): object => ({
      index,
      content: { parts: [{ text }] },
      finishReason: 'STOP'
    })
    const cases: Array<[object[], string[]]> = [
      [[candidate('a', 1)], ['a']],
      [
        [candidate('a', 0), candidate('b', 2)],
        ['a', 'b']
      ],
      [
        [candidate('b', 5), candidate('a', 3)],
        ['a', 'b']
      ],
      [
        [candidate('a'), candidate('b'), candidate('c')],
        ['a', 'b', 'c']
      ],
      [
        [candidate('b', 1), candidate('a')],
        ['a', 'b']
      ],
      [
        [candidate('a'), candidate('c', 2), candidate('b')],
        ['a', 'b', 'c']
      ]
    ]
    for (const [candidates, texts] of cases) {
      const ask = googleAsk({ n: 3 })
      const expected = {
        choices: texts.map((content, index) => ({ index, message: { content }, finish_reason: 'stop' }))
      }
      const answers = {
        complete: readResponse(googleChat, { candidates }, ask),
        'streamed at once': readEvents([sse({ candidates })], streamOf(googleChat, ask))
      }
      for (const [name, events] of Object.entries(answers)) {
        t.match(completion(events), expected, `${name}: ${JSON.stringify(candidates)}`)
        t.equal(events.filter(({ type }) => type === 'choice-end').length, texts.length)
      }
    }
    const apart = readEvents(
      [sse({ candidates: [candidate('a', 2)] }, { candidates: [candidate('b', 4)] })],
      streamOf(googleChat, googleAsk({ n: 3 }))
    )
    t.match(completion(apart), {
      choices: [
        { index: 0, message: { content: 'a' } },
        { index: 1, message: { content: 'b' } }
      ]
    })
    t.end()
  }
)

t.test('a block reason is shown only if it is an enum name, since other text may be a secret', async t => {
  for (const [blockReason, shown] of [['IMAGE_SAFETY', 'IMAGE_SAFETY'], ['sk-secret-1', 'OTHER']]) {
    t.match(readResponse(googleChat, { promptFeedback: { blockReason } }, googleAsk()), [
      { type: 'answer-start' },
      { type: 'refusal-delta', text: `The provider blocked the prompt: ${shown}.` },
      { type: 'choice-end', reason: 'content_filter' }
    ])
  }
})
