import t from 'tap'
import { announce } from '../../lib/process/announce.ts'
import { createModels } from '../../lib/models/create-models.ts'
import { createLog } from '../../lib/log/log.ts'
import { providerSettings, settings } from '../support/settings.ts'

const all = settings({
  providers: [
    providerSettings('sandbox', 'sandbox'),
    { ...providerSettings('off', 'openai'), enabled: false }
  ]
})

function printed (level: string, key?: string): string[] {
  const notices: string[] = []
  const ready = {
    address: { host: '127.0.0.1', port: 1 },
    settings: all,
    models: createModels(all, new Set()),
    key
  }
  announce(ready, createLog(level, { write: () => undefined }), {
    notice: text => {
      notices.push(text)
    }
  })
  return notices
}

t.test('the banner is shown once, with the enabled providers', async t => {
  const [text = '', ...others] = printed('info', 'hg_1')
  t.match(text, /^Headgate listens[^]*sandbox:[^]*hg_1/)
  t.notMatch(text, /^ {2}off$/m)
  t.same(others, [])
})

t.test('below level info a new key is still printed, and nothing else', async t => {
  t.same(printed('warn', 'hg_1'), ['API key (created because none existed; not shown again): hg_1'])
  t.same(printed('warn'), [])
})
