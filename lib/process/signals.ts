/**
 * Resolves with the first SIGTERM or SIGINT. The second one ends the process at once, for whoever
 * does not want to wait any longer.
 */
export async function stopSignal (): Promise<void> {
  await new Promise<void>(resolve => {
    let asked = false
    const onSignal = (): void => {
      if (asked) process.exit(1)
      asked = true
      resolve()
    }
    process.on('SIGTERM', onSignal)
    process.on('SIGINT', onSignal)
  })
}
