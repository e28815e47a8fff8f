import fc from 'fast-check'
import t from 'tap'
import { toolCallIdOf } from '../../../lib/providers/anthropic/tool-call-id.ts'

t.test('tool call ids become valid, deterministically and without collisions', async t => {
  t.equal(toolCallIdOf('toolu_01-A'), 'toolu_01-A')
  fc.assert(fc.property(fc.string(), fc.string(), (a, b) => {
    t.match(toolCallIdOf(a), /^[a-zA-Z0-9_-]+$/)
    t.equal(toolCallIdOf(a) === toolCallIdOf(b), a === b)
    // An id that looks like one of ours may come from another provider too.
    t.not(toolCallIdOf(toolCallIdOf(`${a}:`)), toolCallIdOf(`${a}:`))
  }))
})
