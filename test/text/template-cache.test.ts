import t from 'tap'
import { TemplateCache } from '../../lib/text/template-cache.ts'

t.test('a template is made of the first text, and another after sixteen in a row that did not fit', async t => {
  const cache = new TemplateCache<{ readonly name: string }>()
  const fits = (name: string): boolean => {
    const known = cache.use(known => known.name === name ? known : undefined)
    if (known === undefined) cache.noteMiss(() => ({ name }))
    return known !== undefined
  }
  t.equal(fits('a'), false)
  t.equal(fits('a'), true)
  for (let count = 0; count < 16; count++) t.equal(fits('b'), false)
  t.equal(fits('a'), true, 'is kept so long')
  for (let count = 0; count < 17; count++) t.equal(fits('b'), false)
  t.equal(fits('b'), true)
  t.equal(fits('a'), false)
})
