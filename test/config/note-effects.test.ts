import t, { type Test } from 'tap'
import { noteEffects } from '../../lib/config/note-effects.ts'
import { readSettings } from '../../lib/config/read-settings.ts'

function notesOn (t: Test, yaml: string): Array<readonly [path: string, message: string]> {
  const sources = {
    env: { OPENAI_API_KEY: 'k', ANTHROPIC_API_KEY: 'k' },
    cwd: t.testdir({ 'headgate.yaml': yaml })
  }
  return noteEffects(sources, readSettings(sources).settings).map(({ path, message }) => [path, message])
}

t.test('a pattern with an unbounded repetition gets a note with its bounded form', async t => {
  const notes = notesOn(t, `stages:
  - name: first
    use: pattern
    patterns: [email, { name: bounded, match: 'a{2,3}' }]
  - name: second
    use: pattern
    patterns: [{ name: ids, match: '(?i)id-[0-9]+' }, { name: code, match: 'x\\w*!', max_length: 9 }]
`)
  t.same(notes, [
    [
      'stages[1].patterns[0].match',
      'is read as `(?i)id-[0-9]{1,256}`: `max_length` bounds repetitions'
    ],
    ['stages[1].patterns[1].match', 'is read as `x\\w{0,9}!`: `max_length` bounds repetitions']
  ])
})

t.test('`stream: complete` gets a note where it delays answers', async t => {
  const notes = notesOn(t, `stages:
  - { name: holds, use: moderation, model: openai/m, stream: complete }
  - { name: reports, use: moderation, model: openai/m, stream: complete, action: report }
  - { name: requests, use: moderation, model: openai/m, stream: complete, at: [request] }
  - { name: windows, use: moderation, model: openai/m, stream: windows }
`)
  t.same(notes, [['stages[0].stream', 'holds every streamed answer until all of it has been inspected']])
})

t.test('weights that apply to sessions get a note', async t => {
  const notes = notesOn(t, `models:
  openai/free: { price: { input: 1, output: 1 } }
  openai/other: { price: { input: 1, output: 1 } }
routes:
  cached: { models: [openai/gpt-4.1, openai/gpt-4.1-mini], strategy: weighted }
  asked: { models: [openai/free, openai/other], strategy: weighted, affinity: true }
  of-calls: { models: [openai/gpt-4.1, openai/gpt-4.1-mini], strategy: weighted, affinity: false }
  uncached: { models: [openai/free, openai/other], strategy: weighted }
  one: { models: [openai/gpt-4.1], strategy: weighted }
  ordered: [openai/gpt-4.1, openai/gpt-4.1-mini]
  fastest: { models: [openai/gpt-4.1, openai/gpt-4.1-mini], strategy: fastest }
`)
  const message = 'weights apply per session, because affinity is on; set `affinity: false` to apply them per call'
  t.same(notes, [['routes.cached.strategy', message], ['routes.asked.affinity', message]])
})
