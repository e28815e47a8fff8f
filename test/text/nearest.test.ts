import t from 'tap'
import { nearest } from '../../lib/text/nearest.ts'

t.test('the nearest word is found, a far one is not', async t => {
  t.equal(nearest('opnai', ['anthropic', 'openai', 'xai']), 'openai')
  t.equal(nearest('baseUrl', ['base_url', 'api_key']), 'base_url')
  t.equal(nearest('gpt-4.1-mni', ['gpt-4.1', 'gpt-4.1-mini', 'gpt-4.1-nano']), 'gpt-4.1-mini')
  t.equal(nearest('same', ['sama', 'samb']), 'sama', 'the first of equals')
  t.equal(nearest('weather', ['openai', 'xai']), undefined)
  t.equal(nearest('', []), undefined)
})
