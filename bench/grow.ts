export async function grow(_say: (what: string) => void, _isQuick: boolean): Promise<void> {}
