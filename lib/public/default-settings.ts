import { loadSettings } from '../config/read-settings.ts'
import type { Settings } from '../core/settings.ts'

let settings: Settings | undefined

/** Returns the settings of a configuration that has only a sandbox, which answers immediately. */
export function defaultSettings (): Settings {
  settings ??= loadSettings({
    env: {},
    cwd: import.meta.dirname, // a directory without .env
    config: { providers: { sandbox: { options: { words_per_second: 0 } } } }
  })
  return settings
}
