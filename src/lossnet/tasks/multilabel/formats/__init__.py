"""Files of features and labels: ARFF, CSV, svmlight, npz."""
