import t from 'tap'
import { Explanation, show } from '../../../lib/validation/explain/explanation.ts'

t.test('a fault is reported at the current place, which is restored afterwards', async t => {
  const found = new Explanation(20, ['body'])
  found.at('messages', () => found.at(2, () => found.add('missing', 'Field required', undefined)))
  found.add('dict_type', 'Input should be a valid dictionary', 'text', { of: 1 })
  t.strictSame(found.details, [
    { loc: ['body', 'messages', 2], msg: 'Field required', type: 'missing' },
    {
      loc: ['body'],
      msg: 'Input should be a valid dictionary',
      type: 'dict_type',
      input: 'text',
      ctx: { of: 1 }
    }
  ])
})

t.test('the number of faults is limited', async t => {
  const found = new Explanation(2, [])
  const full: boolean[] = []
  for (let count = 0; count < 4; count++) {
    found.add('missing', `${count}`, undefined)
    full.push(found.isFull)
  }
  t.same(found.details.map(({ msg }) => msg), ['0', '1'])
  t.same(full, [false, true, true, true])
})

t.test(
  'a trial has the same place and the remaining room, and counts only if accepted',
  async t => {
    const found = new Explanation(3, ['body'])
    found.add('missing', 'first', undefined)
    found.at('a', () => {
      const trial = found.trial()
      for (const msg of ['second', 'third', 'fourth']) trial.add('missing', msg, undefined)
      found.trial(1).add('missing', 'never taken', undefined)
      t.equal(found.details.length, 1)
      found.take(trial)
    })
    t.same(
      found.details.map(({ loc, msg }) => [...loc, msg]),
      [
        ['body', 'first'],
        ['body', 'a', 'second'],
        ['body', 'a', 'third']
      ]
    )
  }
)

t.test('single values are shown, long texts cut, objects and arrays omitted', async t => {
  t.same([1, 0, false, null, ''].map(show), [1, 0, false, null, ''])
  t.same([{}, [], undefined].map(show), [undefined, undefined, undefined])
  t.equal(show('x'.repeat(200)), 'x'.repeat(200))
  t.equal(show('x'.repeat(201)), `${'x'.repeat(200)}…`)
  const found = new Explanation(1, [])
  found.at('k'.repeat(1000), () => found.add('missing', '', undefined))
  t.same(found.details[0]?.loc, [`${'k'.repeat(200)}…`], 'so are keys')
})
