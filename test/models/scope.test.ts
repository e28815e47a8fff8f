import t from 'tap'
import { commonModels, listsName, mayUseModel } from '../../lib/models/scope.ts'

const key = (...models: string[]) => ({ id: 'k', name: 'k', models })

t.test('a key without patterns may use every model, one with an empty list none', async t => {
  t.equal(mayUseModel({ id: 'k', name: 'k' }, 'openai/gpt-5'), true)
  t.equal(listsName({ id: 'k', name: 'k' }, 'smart'), true)
  t.equal(mayUseModel(key(), 'openai/gpt-5'), false)
  t.equal(listsName(key(), 'smart'), false)
})

t.test('a pattern is a model, all models of a provider, or all', async t => {
  for (const [pattern, id, expected] of [
    ['openai/gpt-5', 'openai/gpt-5', true],
    ['openai/gpt-5', 'openai/gpt-5-mini', false],
    ['openai/*', 'openai/gpt-5', true],
    ['openai/*', 'openai-eu/gpt-5', false],
    ['open*', 'openai/gpt-5', false],
    ['*', 'x/y', true],
    ['router/a/*', 'router/a/b', true],
    ['router/a/*', 'router/b', false],
    ['a/claude-*', 'a/claude-x', true],
    ['a/claude-*', 'a/gpt-x', false],
    ['*/claude-*', 'a/claude-x', false]
  ] as const) {
    t.equal(mayUseModel(key('none/x', pattern), id), expected, `${pattern} for ${id}`)
  }
})

t.test('names are matched literally: a pattern does not cover a route name', async t => {
  t.equal(listsName(key('smart'), 'smart'), true)
  t.same(['*', 'openai/*'].map(pattern => listsName(key(pattern), 'openai/fast')), [false, false])
})

t.test('the intersection of two lists allows what both allow', async t => {
  for (const [one, other, common] of [
    [undefined, undefined, undefined],
    [['a/x'], undefined, ['a/x']],
    [undefined, ['a/*'], ['a/*']],
    [
      ['a/*', 'b/y'],
      ['a/x', 'b/*'],
      ['a/x', 'b/y']
    ],
    [['*'], ['a/*', 'smart'], ['a/*', 'smart']],
    [['smart', 'a/x'], ['a/*'], ['a/x']],
    [['a/x'], ['b/*'], []],
    [['a/x'], [], []]
  ] as const) {
    t.same(commonModels(one, other), common)
    t.same(commonModels(other, one)?.toSorted(), common?.toSorted())
  }
})
