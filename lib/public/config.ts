/** `headgate/config`: the configuration, from a file, the environment or an object. */

export { ConfigError, formatProblems, formatWarnings } from '../config/problems.ts'
export { loadSettings, readSettings } from '../config/read-settings.ts'
export { watchSettings } from '../config/watch-settings.ts'
export type { Problem } from '../config/problems.ts'
export type { ConfigSources, ReadSettings } from '../config/read-settings.ts'
export type { SettingsWatch } from '../config/watch-settings.ts'
export type { ModelSettings, ProviderSettings, Settings } from '../core/settings.ts'
