/** The path of a configuration entry: names of maps, indices of lists. */
export type Path = ReadonlyArray<string | number>

/** Prints `providers.openai.base_url`, `keys[0].name`, `models["openai/gpt-4.1"].price`. */
export function formatPath (path: Path): string {
  let text = ''
  for (const step of path) {
    if (typeof step === 'number') text += `[${step}]`
    else if (!/^[\w-]+$/.test(step)) text += `[${JSON.stringify(step)}]`
    else text += text === '' ? step : `.${step}`
  }
  return text
}
