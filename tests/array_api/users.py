"""Libraries that take arrays of the standard, with tensors: SciPy and scikit-learn, beside NumPy's arrays and torch.

    python -m tests.array_api.users           # adjoint and torch, one process for each
    python -m tests.array_api.users adjoint   # with what fails

A call counts if what it gives of tensors are tensors with the values that it gives of NumPy's arrays, and once more if
it gives tensors that require grad of tensors that do.
"""

import importlib
import os
import subprocess
import sys
import warnings

import numpy as np

# Of x and y, vectors; a positive one p, and q, which sums to 1 like r; m, a matrix, s, a positive definite one; labels.
SCIPY = """
stats.gmean(p) | stats.hmean(p) | stats.pmean(p, 2.0) | stats.skew(x) | stats.kurtosis(x) | stats.moment(x)
stats.sem(x) | stats.variation(x) | stats.zscore(x) | stats.zmap(x, y) | stats.describe(x) | stats.skewtest(x)
stats.kurtosistest(x) | stats.normaltest(x) | stats.jarque_bera(x) | stats.ttest_1samp(x, 0.0)
stats.ttest_ind(x, y) | stats.ttest_rel(x, y) | stats.entropy(q, r) | stats.differential_entropy(x)
stats.trim_mean(x, 0.1) | stats.tmean(x) | stats.tvar(x) | stats.tstd(x) | stats.tmin(x) | stats.tmax(x)
stats.circmean(x) | stats.circvar(x) | stats.circstd(x) | stats.iqr(x) | stats.gzscore(p) | stats.gstd(p)
stats.mode(x) | stats.bartlett(x, y) | stats.rankdata(x) | stats.pearsonr(x, y) | stats.median_abs_deviation(x)
stats.quantile(x, 0.5) | stats.kstat(x) | stats.lmoment(x) | stats.chisquare(p) | stats.power_divergence(p)
stats.combine_pvalues(q) | stats.f_oneway(x, y) | stats.kruskal(x, y) | stats.levene(x, y)
stats.mannwhitneyu(x, y) | stats.wilcoxon(x, y) | stats.false_discovery_control(q) | stats.brunnermunzel(x, y)
stats.boxcox_llf(0.5, p) | stats.friedmanchisquare(x, y, x + y) | special.log_ndtr(x) | special.ndtr(x)
special.ndtri(q) | special.erf(x) | special.erfc(x) | special.i0(x) | special.i1(x) | special.i0e(x)
special.i1e(x) | special.gammaln(p) | special.expit(x) | special.logit(q) | special.entr(p) | special.digamma(p)
special.rel_entr(q, r) | special.gammainc(p, p) | special.gammaincc(p, p) | special.xlogy(p, p)
special.chdtr(p, p) | special.logsumexp(x) | special.logsumexp(m, axis=0) | special.softmax(x)
special.log_softmax(x) | special.betaln(p, p) | special.beta(p, p) | special.binom(p, p) | special.betainc(p, p, q)
special.stdtrit(p, q) | cluster.vq.whiten(m) | cluster.vq.vq(m, m[:2, :]) | cluster.vq.kmeans(m, 2, rng=1)
cluster.hierarchy.linkage(m) | cluster.vq.kmeans2(m, 2, rng=1, minit="points")
cluster.hierarchy.cophenet(cluster.hierarchy.linkage(m)) | signal.convolve(x, y) | signal.fftconvolve(x, y)
signal.detrend(x) | signal.hilbert(x) | signal.resample(x, 10) | signal.lfilter(p[:2], p[:2], x)
signal.savgol_filter(x, 5, 2) | signal.medfilt(x) | signal.correlate(x, y) | signal.freqz(x, worN=8)
signal.welch(x, nperseg=8) | signal.periodogram(x) | fft.fft(x) | fft.ifft(x) | fft.rfft(x) | fft.hfft(x)
fft.dct(x) | fft.dst(x) | fft.fftn(m) | fft.fftshift(x) | integrate.trapezoid(x) | integrate.cumulative_trapezoid(x)
integrate.cumulative_simpson(x) | integrate.simpson(x)
integrate.tanhsinh(lambda t: t**2, 0 * x[:1], p[:1]).integral
integrate.nsum(lambda k: 1 / k**2, 0 * x[:1] + 1, 50).sum
integrate.cubature(lambda t: t[..., 0] ** 2, 0 * x[:1], p[:1]).estimate | optimize.rosen(x)
optimize.elementwise.find_root(lambda t: t**2 - 2, (0 * x[:1], 0 * x[:1] + 2)).x
differentiate.derivative(lambda t: t**3, x[:3]).df | differentiate.jacobian(optimize.rosen, x[:3]).df
differentiate.hessian(optimize.rosen, x[:3]).ddf | ndimage.gaussian_filter(m, 1.0) | ndimage.median_filter(m, 3)
interpolate.make_interp_spline(o, o)(o) | interpolate.CubicSpline(o, o)(o)
interpolate.Akima1DInterpolator(o, o)(o) | interpolate.PchipInterpolator(o, o)(o)
interpolate.RegularGridInterpolator((o,), o)(o[:, None]) | interpolate.RBFInterpolator(m, m[:, 0])(m)
spatial.transform.Rotation.from_rotvec(m[:, :3]).as_matrix()
spatial.transform.Rotation.from_euler("xyz", m[:, :3]).as_quat() | spatial.distance.pdist(m)
spatial.distance.cdist(m, m) | spatial.transform.Rotation.from_rotvec(m[:, :3]).apply(m[:, :3])
constants.convert_temperature(x, "C", "K") | linalg.inv(s) | linalg.det(s) | linalg.solve(s, s[:, 0])
linalg.eigh(s) | linalg.expm(s) | linalg.block_diag(s, s)
"""
SKLEARN = """
preprocessing.StandardScaler().fit(m).transform(m) | preprocessing.MinMaxScaler().fit(m).transform(m)
preprocessing.MaxAbsScaler().fit(m).transform(m) | preprocessing.Normalizer().transform(m)
preprocessing.Binarizer().transform(m) | preprocessing.PolynomialFeatures().fit(m).transform(m)
preprocessing.LabelEncoder().fit_transform(a) | preprocessing.LabelBinarizer().fit_transform(a)
decomposition.PCA(2, svd_solver="full").fit(m).transform(m) | naive_bayes.GaussianNB().fit(m, a).predict(m)
decomposition.PCA(2, svd_solver="covariance_eigh").fit(m).transform(m) | linear_model.RidgeCV().fit(m, y).predict(m)
linear_model.Ridge(solver="svd").fit(m, y).predict(m)
linear_model.RidgeClassifier(solver="svd").fit(m, a).predict(m)
linear_model.LogisticRegression().fit(m, a).predict(m) | model_selection.train_test_split(m, a, random_state=0)
discriminant_analysis.LinearDiscriminantAnalysis().fit(m, a).predict(m)
kernel_approximation.Nystroem(n_components=5, random_state=0).fit(m).transform(m)
mixture.GaussianMixture(2, init_params="random", random_state=0).fit(m).predict_proba(m)
metrics.accuracy_score(a, b) | metrics.balanced_accuracy_score(a, b) | metrics.f1_score(a, b)
metrics.recall_score(a, b) | metrics.precision_score(a, b) | metrics.jaccard_score(a, b)
metrics.confusion_matrix(a, b) | metrics.hamming_loss(a, b) | metrics.zero_one_loss(a, b)
metrics.cohen_kappa_score(a, b) | metrics.matthews_corrcoef(a, b) | metrics.mean_absolute_error(p, u)
metrics.mean_squared_error(p, u) | metrics.mean_squared_log_error(p, u) | metrics.root_mean_squared_error(p, u)
metrics.r2_score(p, u) | metrics.d2_tweedie_score(p, u) | metrics.max_error(p, u)
metrics.mean_absolute_percentage_error(p, u) | metrics.mean_pinball_loss(p, u) | metrics.mean_poisson_deviance(p, u)
metrics.explained_variance_score(p, u) | metrics.median_absolute_error(p, u) | metrics.mean_gamma_deviance(p, u)
metrics.roc_auc_score(a, g) | metrics.roc_curve(a, g) | metrics.precision_recall_curve(a, g)
metrics.log_loss(a, g) | metrics.average_precision_score(a, g) | metrics.brier_score_loss(a, g)
metrics.det_curve(a, g) | metrics.pairwise.euclidean_distances(m, m) | metrics.pairwise.cosine_similarity(m, m)
metrics.pairwise.rbf_kernel(m, m) | metrics.pairwise.linear_kernel(m, m) | metrics.pairwise.laplacian_kernel(m, m)
metrics.pairwise.chi2_kernel(n, n) | metrics.pairwise.polynomial_kernel(m, m)
metrics.pairwise.sigmoid_kernel(m, m) | metrics.pairwise_distances(m, m)
metrics.pairwise.paired_cosine_distances(m, m) | metrics.pairwise.cosine_distances(m, m)
metrics.cluster.entropy(a)
"""
SUBMODULES = {
    "scipy": "stats special cluster signal fft integrate optimize optimize.elementwise differentiate ndimage "
    "interpolate spatial spatial.transform spatial.distance constants linalg cluster.vq cluster.hierarchy",
    "sklearn": "preprocessing decomposition naive_bayes linear_model model_selection discriminant_analysis metrics "
    "kernel_approximation mixture metrics.pairwise metrics.cluster",
}


def calls(text):
    return [call.strip() for line in text.strip().splitlines() for call in line.split(" | ")]


def arrays():
    random = np.random.default_rng(0)
    x, y, p = random.normal(size=20), random.normal(size=20), random.uniform(0.1, 0.9, size=20)
    m = random.normal(size=(20, 5))
    q = p / p.sum()
    labels = (m[:, 0] > 0).astype(np.int64)
    made = {"x": x, "y": y, "p": p, "q": q, "r": np.roll(q, 1), "m": m, "n": np.abs(m), "s": m.T @ m + np.eye(5)}
    return made | {"o": np.sort(x), "a": labels, "b": np.roll(labels, 1), "u": np.roll(p, 1), "g": 1 / (1 + np.exp(-x))}


def parts(result):
    if isinstance(result, tuple | list):
        return [part for one in result for part in parts(one)]
    if hasattr(result, "statistic"):
        return parts((result.statistic, result.pvalue))
    return parts(tuple(vars(result).values())) if type(result).__name__ == "DescribeResult" else [result]


def near(got, wanted):
    got, wanted = np.asarray(got.resolve_conj() if hasattr(got, "resolve_conj") else got), np.asarray(wanted)
    if wanted.dtype.kind not in "fciub":
        return True
    return got.shape == wanted.shape and np.allclose(got, wanted, rtol=1e-5, atol=1e-6, equal_nan=True)


def failure(call, names, values, torch, numbers_count):
    """Why a call fails with tensors, or None."""
    wanted = parts(eval(call, names | values))
    try:
        got = parts(eval(call, names | {name: torch.tensor(value) for name, value in values.items()}))
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0][:150]}"
    if not numbers_count and not any(isinstance(part, torch.Tensor) for part in got):
        return f"gives {type(got[0]).__name__}"
    same = len(got) == len(wanted) and all(map(near, got, wanted))
    return None if same else "gives other values"


def keeps_gradients(call, names, values, torch):
    tensors = {name: torch.tensor(value) for name, value in values.items()}
    for tensor in tensors.values():
        if tensor.is_floating_point():
            tensor.requires_grad_()
    try:
        return any(getattr(part, "requires_grad", False) for part in parts(eval(call, names | tensors)))
    except Exception:
        return False


def check(library, calls_of, numbers_count=False, gradients=True):
    """How many calls there are, what fails and why, and how many keep gradients."""
    torch = importlib.import_module(library)
    package, text = calls_of
    modules = {name: importlib.import_module(f"{package}.{name}") for name in SUBMODULES[package].split()}
    names = {name: module for name, module in modules.items() if "." not in name}
    values, failures, kept = arrays(), [], 0
    for call in calls(text):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            why = failure(call, names, values, torch, numbers_count)
            kept += gradients and why is None and keeps_gradients(call, names, values, torch)
        failures += [] if why is None else [(call, why)]
    return len(calls(text)), failures, kept


def main():
    if len(sys.argv) == 1:
        for library in ("adjoint", "torch"):
            subprocess.run([sys.executable, "-m", __spec__.name, library, "--brief"], check=True)
        return
    os.environ["SCIPY_ARRAY_API"] = "1"  # SciPy looks when it is imported
    library = sys.argv[1]
    count, failures, kept = check(library, ("scipy", SCIPY))
    print(f"{library}: SciPy {count - len(failures)} of {count}, of which {kept} keep gradients")
    try:
        import sklearn
    except ImportError:
        found = []
    else:
        with sklearn.config_context(array_api_dispatch=True):
            count, found, _ = check(library, ("sklearn", SKLEARN), numbers_count=True, gradients=False)
        print(f"{library}: scikit-learn {count - len(found)} of {count}")
    if "--brief" not in sys.argv:
        for call, why in failures + found:
            print(f"    {call}: {why}")


if __name__ == "__main__":
    main()
