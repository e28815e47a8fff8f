/**
 * Resolves with the first SIGTERM or SIGINT. The second one exits immediately, for an operator who does
 * not want to wait.
 */
export async function stopSignal (): Promise<void> {
  await new Promise<void>(resolve => {
    let signalled = false
    const onSignal = (): void => {
      if (signalled) process.exit(1)
      signalled = true
      resolve()
    }
    process.on('SIGTERM', onSignal)
    process.on('SIGINT', onSignal)
  })
}
