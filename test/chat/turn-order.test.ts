import t from 'tap'
import { inTurnOrder, TextPhases, textPhases, TurnOrder } from '../../lib/chat/turn-order.ts'
import type { AssistantMessage } from '../../schemas/messages.ts'

t.test('a turn has an order only if thinking came after a text or a call', async t => {
  const rows = [
    [[], false],
    [['thinking', 'thinking', 'text', 'call', 'text'], false],
    [['text', 'thinking'], true],
    [['thinking', 'call', 'thinking', 'thinking', 'text'], true]
  ] as const
  for (const [parts, isSet] of rows) {
    const order = new TurnOrder()
    for (const part of parts) order.add(part)
    order.add('thinking', 0)
    t.strictSame(order.field, isSet ? { turn_order: parts } : {})
  }
})

t.test('parts without a place: thinking comes first, texts and calls come last', async t => {
  const arranged = (turnOrder: unknown): readonly string[] => {
    const field = { turn_order: turnOrder }
    const message: AssistantMessage = { role: 'assistant', content: null, ...field }
    return inTurnOrder(message, { thinking: [['T1'], ['T2']], text: [['a'], []], call: [['f'], ['g', 'h']] })
  }
  const usual = ['T1', 'T2', 'a', 'f', 'g', 'h']
  t.strictSame(arranged(undefined), usual)
  t.strictSame(arranged({ length: 1 }), usual)
  t.strictSame(arranged(['constructor', 1, null]), usual)
  t.strictSame(arranged(['call', 'thinking']), ['T1', 'f', 'T2', 'a', 'g', 'h'])
  t.strictSame(arranged(['call', 'thinking', 'thinking', 'call', 'text', 'text']),
    ['f', 'T1', 'T2', 'g', 'h', 'a'])
  t.strictSame(arranged(['call', 'call', 'text', 'thinking', 'text', 'thinking', 'thinking']),
    ['f', 'g', 'h', 'a'])
})

t.test('texts have phases only if one of them has', async t => {
  const phases = new TextPhases()
  phases.add()
  t.strictSame(phases.field, {})
  phases.add('commentary', 2)
  phases.add(null, 0)
  t.equal(phases.last, 'commentary')
  t.strictSame(textPhases(phases.field), [null, 'commentary', 'commentary'])
  t.strictSame(textPhases({ text_phases: ['a', 1] }), ['a', null])
  t.strictSame(textPhases({ text_phases: 'a' }), [])
})
